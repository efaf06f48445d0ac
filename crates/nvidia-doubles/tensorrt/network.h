// INetworkDefinition with its tensors and layers. It understands the few add... methods that the double's parser uses;
// the others answer null.
#pragma once

#include "description.h"
#include "memory.h"

#include <memory>

namespace dbl
{

struct Builder;
struct Network;

struct Tensor : Object
{
    Network* network;
    TensorText text;
    bool input;
    bool output = false;
    std::string shown;

    Tensor(Network* of, TensorText described, bool is_input);
    void setName(char const* name);
    char const* getName() { return text.name.c_str(); }
    void setDimensions(nvinfer1::Dims const& dims);
    nvinfer1::Dims getDimensions() { return text.dims; }
    void setType(nvinfer1::DataType type) { text.type = type; }
    nvinfer1::DataType getType() { return text.type; }
    bool isNetworkInput() { return input; }
    bool isNetworkOutput() { return output; }
    bool isShapeTensor() { return text.shape_input; }
    bool isExecutionTensor() { return !text.shape_input; }
    bool setDynamicRange(float min, float max);
    bool dynamicRangeIsSet() { return properties.count("DynamicRangeMin") == 1; }
    void resetDynamicRange();
};
using TensorObject = Wrap<nvinfer1::ITensor, nvinfer1::apiv::VTensorShim<Tensor>>;

struct Layer : Object
{
    nvinfer1::LayerType type;
    std::string name;
    std::vector<nvinfer1::ITensor*> inputs;
    std::unique_ptr<TensorObject> result;

    Layer(Network* of, nvinfer1::LayerType kind, std::vector<nvinfer1::ITensor*> from, std::string default_name);
    nvinfer1::LayerType getType() { return type; }
    void setName(char const* given) { name = given == nullptr ? "" : given; }
    char const* getName() { return name.c_str(); }
    int32_t getNbInputs() { return static_cast<int32_t>(inputs.size()); }
    nvinfer1::ITensor* getInput(int32_t i) { return i >= 0 && i < getNbInputs() ? inputs[static_cast<std::size_t>(i)] : nullptr; }
    int32_t getNbOutputs() { return 1; }
    nvinfer1::ITensor* getOutput(int32_t i) { return i == 0 ? result.get() : nullptr; }
    bool precisionIsSet() { return properties.count("Precision") == 1; }
    void resetPrecision() { properties.erase("Precision"); }
    bool outputTypeIsSet(int32_t i) { return properties.count("OutputType[" + std::to_string(i) + "]") == 1; }
    void resetOutputType(int32_t i) { properties.erase("OutputType[" + std::to_string(i) + "]"); }
};
template <class I> using LayerObject = Wrap<I, nvinfer1::apiv::VLayerShim<Layer>>;

struct Network : Object
{
    Builder* builder;
    nvinfer1::IBuilder* builder_object;
    uint32_t flags;
    std::vector<std::unique_ptr<TensorObject>> inputs;
    std::vector<nvinfer1::ITensor*> outputs;
    std::vector<nvinfer1::ILayer*> layers;
    /// Deletes the layers, each as what it is.
    std::vector<std::shared_ptr<void>> owned;
    Description description;
    /// Where the parser keeps the description; it lives as long as the parser.
    char const* description_at = nullptr;

    Network(Builder* from, nvinfer1::IBuilder* from_object, uint32_t with_flags);
    ~Network();

    nvinfer1::ITensor* addInput(char const* name, nvinfer1::DataType type, nvinfer1::Dims const& dims);
    void markOutput(nvinfer1::ITensor& tensor);
    void unmarkOutput(nvinfer1::ITensor& tensor);
    int32_t getNbLayers() { return static_cast<int32_t>(layers.size()); }
    nvinfer1::ILayer* getLayer(int32_t i);
    int32_t getNbInputs() { return static_cast<int32_t>(inputs.size()); }
    nvinfer1::ITensor* getInput(int32_t i);
    int32_t getNbOutputs() { return static_cast<int32_t>(outputs.size()); }
    nvinfer1::ITensor* getOutput(int32_t i);
    bool hasImplicitBatchDimension() { return false; }
    nvinfer1::IBuilder& getBuilder() { return *builder_object; }
    uint32_t getFlags() { return flags; }
    template <class F> bool getFlag(F flag) { return (flags >> static_cast<uint32_t>(flag) & 1U) != 0; }

    nvinfer1::IConstantLayer* addConstant(nvinfer1::Dims const& dims, nvinfer1::Weights weights);
    nvinfer1::IIdentityLayer* addIdentity(nvinfer1::ITensor& a);
    nvinfer1::IActivationLayer* addActivation(nvinfer1::ITensor& a, nvinfer1::ActivationType);
    nvinfer1::ISoftMaxLayer* addSoftMax(nvinfer1::ITensor& a);
    nvinfer1::IShuffleLayer* addShuffle(nvinfer1::ITensor& a);
    nvinfer1::IElementWiseLayer* addElementWise(
        nvinfer1::ITensor& a, nvinfer1::ITensor& b, nvinfer1::ElementWiseOperation);
    nvinfer1::IPoolingLayer* addPoolingNd(nvinfer1::ITensor& a, nvinfer1::PoolingType, nvinfer1::Dims const&);
    nvinfer1::IConvolutionLayer* addConvolutionNd(
        nvinfer1::ITensor& a, int64_t, nvinfer1::Dims const&, nvinfer1::Weights, nvinfer1::Weights);

    /// What the network computes now, for a plan.
    Description whole();

private:
    template <class I>
    I* add(nvinfer1::LayerType type, std::vector<nvinfer1::ITensor*> from, bool hidden = false);
};
using NetworkObject = Wrap<nvinfer1::INetworkDefinition, nvinfer1::apiv::VNetworkDefinitionShim<Network>>;

/// Human name of a layer's type, as in the inspector's LayerType.
char const* nameOf(nvinfer1::LayerType type);

} // namespace dbl
