// The functions that register this room's translations.
//
// In a header of their own: a translation that comes or goes leaves the others as they are.
#ifndef TF_PLUGIN_TRANSLATIONS_TRANSLATIONS_H_
#define TF_PLUGIN_TRANSLATIONS_TRANSLATIONS_H_

namespace onexpu::tf_plugin {

// One per file; see registration.cc.
void RegisterListSums();
void RegisterOnexpuKernelTranslation();
void RegisterActivations();
void RegisterAliases();
void RegisterAmsgrad();
void RegisterArgExtremes();
void RegisterArgmaxPooling();
void RegisterBiasGradient();
void RegisterBitShifts();
void RegisterCategorical();
void RegisterComparisons();
void RegisterComplexNumbers();
void RegisterConv3DGradients();
void RegisterConvInputGradients();
void RegisterDeterminants();
void RegisterDiagonals();
void RegisterDilations();
void RegisterDomainEdges();
void RegisterDynamicStitch();
void RegisterEinsum();
void RegisterFakeQuantization();
void RegisterFftNd();
void RegisterFusedBatchNorm();
void RegisterGathers();
void RegisterGlobalNormalization();
void RegisterGruCells();
void RegisterImageColors();
void RegisterLocalResponseNormalization();
void RegisterLstmCells();
void RegisterMatrixSolve();
void RegisterMaxPooling();
void RegisterNumericSummary();
void RegisterOneHot();
void RegisterPatches();
void RegisterPooling3D();
void RegisterProjectiveTransforms();
void RegisterQuantizationGradient();
void RegisterRandomBinomial();
void RegisterReductions();
void RegisterResizing();
void RegisterScatterUpdates();
void RegisterSecondPoolingGradients();
void RegisterSelect();
void RegisterSingularValues();
void RegisterSparseSegments();
void RegisterSoftmax();
void RegisterSpecialFunctions();
void RegisterStatefulRandom();
void RegisterStatelessRandom();
void RegisterStridedSliceGradient();
void RegisterStridedSliceUpdates();
void RegisterTopK();
void RegisterTransposes();
void RegisterTridiagonal();
void RegisterUnaryFunctions();
void RegisterXlaCallModule();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_TRANSLATIONS_H_
