# Custom kernels in C++ (onexpu/custom_kernel.h) with CMake:
#
#   find_package(Python3 REQUIRED COMPONENTS Interpreter)
#   execute_process(COMMAND ${Python3_EXECUTABLE} -m onexpu --cmake-dir
#                   OUTPUT_VARIABLE onexpu_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
#   find_package(onexpu REQUIRED)
#
#   onexpu_add_library(my_kernels handlers.cc)
#   onexpu_embed_kernels(my_kernels device.cpp twice_f32=twice<float>)
#
# handlers.cc includes "device.h", which defines an onexpu::SpirvKernel for each name.
cmake_minimum_required(VERSION 3.18)

find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(
  COMMAND ${Python3_EXECUTABLE} -c
          "import onexpu; print(*map(onexpu.include_directory, ('onexpu', 'xla', 'oneapi')), onexpu.library_directory('oneapi'), sep=';')"
  OUTPUT_VARIABLE _onexpu_directories
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE _onexpu_result)
if(NOT _onexpu_result EQUAL 0)
  set(onexpu_FOUND FALSE)
  set(onexpu_NOT_FOUND_MESSAGE "${Python3_EXECUTABLE} has no onexpu; name another with -DPython3_EXECUTABLE")
  return()
endif()
list(GET _onexpu_directories 0 onexpu_INCLUDE_DIR)
list(GET _onexpu_directories 1 onexpu_XLA_INCLUDE_DIR)
list(GET _onexpu_directories 2 onexpu_ONEAPI_INCLUDE_DIR)
list(GET _onexpu_directories 3 onexpu_ONEAPI_LIBRARY_DIR)

# Headers, and the SYCL runtime, for a target that is made in another way.
if(NOT TARGET onexpu::custom_kernel)
  add_library(onexpu::custom_kernel INTERFACE IMPORTED)
  target_compile_features(onexpu::custom_kernel INTERFACE cxx_std_17)
  target_include_directories(onexpu::custom_kernel INTERFACE ${onexpu_INCLUDE_DIR})
  target_include_directories(onexpu::custom_kernel SYSTEM INTERFACE ${onexpu_XLA_INCLUDE_DIR}
                                                                    ${onexpu_ONEAPI_INCLUDE_DIR})
  target_link_directories(onexpu::custom_kernel INTERFACE ${onexpu_ONEAPI_LIBRARY_DIR})
  target_link_libraries(onexpu::custom_kernel INTERFACE sycl)
endif()

# A library for onexpu.load_library.
function(onexpu_add_library target)
  add_library(${target} MODULE ${ARGN})
  # What it exports is onexpu_kernel_library, and nothing that another library could take for its own.
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden PREFIX "")
  target_link_libraries(${target} PRIVATE onexpu::custom_kernel)
endfunction()

# Compiles the kernels of a SYCL source to SPIR-V. What follows are pairs NAME=KERNEL: the name in
# C++, and the kernel as the source has it, templates spelled out. The sources of `target` may include
# the header that is named like the source.
function(onexpu_embed_kernels target source)
  get_filename_component(name ${source} NAME_WE)
  get_filename_component(source ${source} ABSOLUTE)
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded)
  set(header ${directory}/${name}.h)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${Python3_EXECUTABLE} -m onexpu embed ${source} ${header} ${ARGN}
    DEPENDS ${source}
    COMMENT "Compiling ${name} to SPIR-V"
    VERBATIM)
  target_sources(${target} PRIVATE ${header})
  target_include_directories(${target} PRIVATE ${directory})
endfunction()

set(onexpu_FOUND TRUE)
