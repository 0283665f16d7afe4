module @jit__movement attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32>) -> (tensor<6x4xf32> {jax.result_info = "result[0]"}, tensor<4x12xf32> {jax.result_info = "result[1]"}, tensor<24xf32> {jax.result_info = "result[2]"}, tensor<4x6xf32> {jax.result_info = "result[3]"}, tensor<2x4x6xf32> {jax.result_info = "result[4]"}, tensor<4x6x!quant.uniform<i8:f32, 0.1>> {jax.result_info = "result[5]"}) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x4xf32>
    %2 = stablehlo.add %0, %1 : tensor<6x4xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %4 = stablehlo.multiply %arg0, %3 : tensor<4x6xf32>
    %5 = stablehlo.concatenate %arg0, %4, dim = 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %6 = stablehlo.reshape %arg0 : (tensor<4x6xf32>) -> tensor<24xf32>
    %7 = stablehlo.reverse %arg0, dims = [0] : tensor<4x6xf32>
    %8 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<4x6xf32>) -> tensor<2x4x6xf32>
    %9 = stablehlo.iota dim = 0 : tensor<4x6x!quant.uniform<i8:f32, 0.1>>
    return %2, %5, %6, %7, %8, %9 : tensor<6x4xf32>, tensor<4x12xf32>, tensor<24xf32>, tensor<4x6xf32>, tensor<2x4x6xf32>, tensor<4x6x!quant.uniform<i8:f32, 0.1>>
  }
}
