#include "network.h"

#include "builder.h"

#include <algorithm>
#include <cstring>

namespace dbl
{

using namespace nvinfer1;

Tensor::Tensor(Network* of, TensorText described, bool is_input)
    : network(of), text(std::move(described)), input(is_input)
{
    parent = of;
    standard("AllowedFormats", 1);
}

void Tensor::setName(char const* name)
{
    if (name == nullptr)
        return fail(this, "ITensor::setName", ErrorCode::kINVALID_ARGUMENT, "name is null");
    // A tensor that gets the name of a described output is that output.
    if (!input)
        for (auto const& described : network->description.outputs)
            if (described.name == name)
                text = described;
    text.name = name;
}

void Tensor::setDimensions(Dims const& dims)
{
    if (!input)
        return fail(this, "ITensor::setDimensions", ErrorCode::kINVALID_ARGUMENT, "only of inputs can dims be set");
    text.dims = dims;
    text.words.assign(static_cast<std::size_t>(std::max(dims.nbDims, 0)), "");
    text.limits.assign(text.words.size(), 0);
}

bool Tensor::setDynamicRange(float min, float max)
{
    keep("DynamicRangeMin", min);
    keep("DynamicRangeMax", max);
    return true;
}

void Tensor::resetDynamicRange()
{
    properties.erase("DynamicRangeMin");
    properties.erase("DynamicRangeMax");
}

Layer::Layer(Network* of, LayerType kind, std::vector<ITensor*> from, std::string default_name)
    : type(kind), name(std::move(default_name)), inputs(std::move(from))
{
    parent = of;
    TensorText text;
    if (!inputs.empty())
        if (auto* first = behind<TensorObject>(inputs[0], "ITensor", "INetworkDefinition::add..."))
            text = first->text;
    text.shape_input = false;
    text.name = name + "_output";
    result = std::make_unique<TensorObject>(of, text, false);
}

Network::Network(Builder* from, IBuilder* from_object, uint32_t with_flags)
    : builder(from), builder_object(from_object), flags(with_flags)
{
    parent = from;
    keep<char const*>("Name", "Unnamed Network 0");
#if DOUBLE_STRONG
    flags |= 1U; // kSTRONGLY_TYPED is what is always so
#endif
}

Network::~Network() = default;

ITensor* Network::addInput(char const* name, DataType type, Dims const& dims)
{
    if (name == nullptr || dims.nbDims < 0 || dims.nbDims > Dims::MAX_DIMS)
    {
        fail(this, "INetworkDefinition::addInput", ErrorCode::kINVALID_ARGUMENT, "name or dimensions are not valid");
        return nullptr;
    }
    for (auto& known : inputs)
        if (known->impl().text.name == name)
        {
            fail(this, "INetworkDefinition::addInput", ErrorCode::kINVALID_ARGUMENT,
                std::string("two inputs of the name ") + name);
            return nullptr;
        }
    TensorText text;
    if (auto const* described = description.find(name))
        text = *described;
    bool const same = text.dims.nbDims == dims.nbDims && std::equal(dims.d, dims.d + dims.nbDims, text.dims.d);
    text.name = name;
    text.type = type;
    text.dims = dims;
    if (!same || text.words.size() != static_cast<std::size_t>(dims.nbDims))
    {
        text.words.assign(static_cast<std::size_t>(dims.nbDims), "");
        text.limits.assign(text.words.size(), 0);
    }
    inputs.push_back(std::make_unique<TensorObject>(this, text, true));
    return inputs.back().get();
}

void Network::markOutput(ITensor& tensor)
{
    auto* found = behind<TensorObject>(&tensor, "ITensor", "INetworkDefinition::markOutput");
    if (found == nullptr || found->output)
        return;
    found->output = true;
    outputs.push_back(&tensor);
}

void Network::unmarkOutput(ITensor& tensor)
{
    auto* found = behind<TensorObject>(&tensor, "ITensor", "INetworkDefinition::unmarkOutput");
    if (found == nullptr)
        return;
    found->output = false;
    outputs.erase(std::remove(outputs.begin(), outputs.end(), &tensor), outputs.end());
}

ILayer* Network::getLayer(int32_t i)
{
    return i >= 0 && i < getNbLayers() ? layers[static_cast<std::size_t>(i)] : nullptr;
}
ITensor* Network::getInput(int32_t i)
{
    return i >= 0 && i < getNbInputs() ? inputs[static_cast<std::size_t>(i)].get() : nullptr;
}
ITensor* Network::getOutput(int32_t i)
{
    return i >= 0 && i < getNbOutputs() ? outputs[static_cast<std::size_t>(i)] : nullptr;
}

template <class I> I* Network::add(LayerType type, std::vector<ITensor*> from, bool hidden)
{
    std::string const name = "(Unnamed Layer* " + std::to_string(layers.size()) + ") [" + nameOf(type) + "]";
    auto const made = std::make_shared<LayerObject<I>>(this, type, std::move(from), name);
    owned.push_back(made);
    if (!hidden)
        layers.push_back(made.get());
    return made.get();
}

IConstantLayer* Network::addConstant(Dims const&, Weights weights)
{
    // The parser hands over its description as weights: they point into the parser's memory, as a real network's do.
    std::size_t const magic = std::strlen(kMAGIC_LINE);
    auto const* text = static_cast<char const*>(weights.values);
    if (weights.type == DataType::kINT8 && weights.count > static_cast<int64_t>(magic)
        && std::memcmp(text, kMAGIC_LINE, magic) == 0)
    {
        DescriptionError error;
        description = {};
        if (!read(std::string(text, static_cast<std::size_t>(weights.count)), description, error))
            fail(this, "INetworkDefinition::addConstant", ErrorCode::kINVALID_ARGUMENT, error.text);
        description_at = text;
        return add<IConstantLayer>(LayerType::kCONSTANT, {}, true);
    }
    return add<IConstantLayer>(LayerType::kCONSTANT, {});
}
IIdentityLayer* Network::addIdentity(ITensor& a) { return add<IIdentityLayer>(LayerType::kIDENTITY, {&a}); }
IActivationLayer* Network::addActivation(ITensor& a, ActivationType)
{
    return add<IActivationLayer>(LayerType::kACTIVATION, {&a});
}
ISoftMaxLayer* Network::addSoftMax(ITensor& a) { return add<ISoftMaxLayer>(LayerType::kSOFTMAX, {&a}); }
IShuffleLayer* Network::addShuffle(ITensor& a) { return add<IShuffleLayer>(LayerType::kSHUFFLE, {&a}); }
IElementWiseLayer* Network::addElementWise(ITensor& a, ITensor& b, ElementWiseOperation)
{
    return add<IElementWiseLayer>(LayerType::kELEMENTWISE, {&a, &b});
}
IPoolingLayer* Network::addPoolingNd(ITensor& a, PoolingType, Dims const&)
{
    return add<IPoolingLayer>(LayerType::kPOOLING, {&a});
}
IConvolutionLayer* Network::addConvolutionNd(ITensor& a, int64_t, Dims const&, Weights, Weights)
{
    return add<IConvolutionLayer>(LayerType::kCONVOLUTION, {&a});
}

Description Network::whole()
{
    Description whole = description;
    whole.inputs.clear();
    whole.outputs.clear();
    whole.layers.clear();
    for (auto& input : inputs)
        whole.inputs.push_back(input->impl().text);
    for (auto* output : outputs)
        if (auto* tensor = behind<TensorObject>(output, "ITensor", "IBuilder::buildSerializedNetwork"))
            whole.outputs.push_back(tensor->text);
    for (auto* layer : layers)
    {
        std::string name = layer->getName();
        std::replace(name.begin(), name.end(), ' ', '_');
        whole.layers.push_back({name, nameOf(layer->getType())});
    }
    return whole;
}

char const* nameOf(LayerType type)
{
    switch (type)
    {
    case LayerType::kCONVOLUTION: return "Convolution";
    case LayerType::kACTIVATION: return "Activation";
    case LayerType::kSOFTMAX: return "SoftMax";
    case LayerType::kSHUFFLE: return "Shuffle";
    case LayerType::kELEMENTWISE: return "ElementWise";
    case LayerType::kPOOLING: return "Pooling";
    case LayerType::kCONSTANT: return "Constant";
    case LayerType::kIDENTITY: return "Identity";
    default: return "Layer";
    }
}

} // namespace dbl
