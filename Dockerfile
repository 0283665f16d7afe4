# An image with the wheel of `make wheel`, JAX and TensorFlow, for the CPU device or for Intel GPUs:
#
#   docker build -t onexpu .
#   docker build -t onexpu --build-arg GPU=1 .
#   docker run --device /dev/dri --group-add $(stat -c %g /dev/dri/renderD128) onexpu
#
# Debian 13 has Intel's Level Zero and OpenCL drivers (docs/gpu.md).
FROM python:3.13-slim-trixie

ARG GPU=0
# libstdc++-14-dev: custom kernels in SYCL source include the C++ standard library.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libstdc++-14-dev \
    && if [ "$GPU" = 1 ]; then \
         apt-get install --yes --no-install-recommends \
             libze1 libze-intel-gpu1 intel-opencl-icd ocloc; \
       fi \
    && rm -rf /var/lib/apt/lists/*

COPY dist/*.whl /tmp/
RUN wheel=$(ls /tmp/onexpu-*.whl) \
    && pip install --no-cache-dir "$wheel[tensorflow-cpu]" \
    && rm /tmp/*.whl

# What is installed and found.
CMD ["python", "-m", "onexpu"]
