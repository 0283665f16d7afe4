"""Device memory shared with JAX, TensorFlow, dpctl, dpnp and DLPack, without a copy."""
