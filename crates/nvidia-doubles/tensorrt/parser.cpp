// The ONNX parser's double: a library of its own, which reaches the network only through the network's public methods,
// as the real parser does. It reads the text of description.h instead of ONNX, or at its end; all other bytes are a parser
// error, except none at all: the real parser finds no fault with an empty model.
#include "core.h"
#include "description.h"
#include "nvidia_plugins.h"

#include "NvOnnxParser.h"

#include "shims.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

namespace dbl
{

using namespace nvinfer1;
using ParserCode = nvonnxparser::ErrorCode;

struct ParserError : Object
{
    ParserCode kind;
    std::string text;
    std::string where;
    std::string layer;
    std::string op;
    int32_t at_line;
    int32_t index;

    ParserError(ParserCode of, std::string desc, std::string function, int32_t line = 0, int32_t node_index = -1,
        std::string node_name = "", std::string node_op = "")
        : kind(of), text(std::move(desc)), where(std::move(function)), layer(std::move(node_name)), op(std::move(node_op)),
          at_line(line), index(node_index)
    {
        klass = "IParserError"; // the parser's own, so in no registry
    }
    ParserCode code() { return kind; }
    char const* desc() { return text.c_str(); }
    char const* file() { return "parser.cpp"; }
    int32_t line() { return at_line; }
    char const* func() { return where.c_str(); }
    int32_t node() { return index; }
    char const* nodeName() { return layer.c_str(); }
    char const* nodeOperator() { return op.c_str(); }
    char const* const* localFunctionStack() { return nullptr; }
    int32_t localFunctionStackSize() { return 0; }
};
using ParserErrorObject = nvonnxparser::IParserErrorShim<ParserError>;

namespace
{

constexpr char const* kOPERATORS[] = {"Conv", "Convolution", "Relu", "Activation", "Softmax", "Reshape", "Add",
    "MaxPool", "Identity", "QuantizeLinear"};

bool knownOperator(std::string const& op)
{
    for (char const* known : kOPERATORS)
        if (op == known)
            return true;
    return isNvidiasPlugin(op) && nvidiasPluginsAreRegistered();
}

/// The text of a model: all of it, or what an ONNX file carries as its last field (`doc_string`), so that whoever reads ONNX
/// before TensorRT does finds a network too.
std::string textOf(void const* model, std::size_t size)
{
    std::string const all(static_cast<char const*>(model), size);
    std::size_t const at = all.rfind(std::string(kMAGIC_LINE) + "\n");
    return at == std::string::npos ? all : all.substr(at);
}

/// Texts of deleted parsers: networks may still point into them, and the builder recognises them.
struct Remains
{
    std::vector<std::unique_ptr<std::string>> texts;
};
Remains& remains()
{
    static Remains the;
    return the;
}

} // namespace

struct Parser : Object
{
    INetworkDefinition* network;
    uint32_t flags = 0;
    std::vector<std::unique_ptr<ParserErrorObject>> errors;
    /// What the network's weights point into.
    std::vector<std::unique_ptr<std::string>> texts;
    std::string loaded;
    bool loads = false;
    bool supported = false;
    int64_t node = 0;
    float weight = 1.0F;

    explicit Parser(INetworkDefinition* into) : network(into) {}
    ~Parser();
    void destroy();

    bool parse(void const* model, std::size_t size, char const* path = nullptr);
    bool parseFromFile(char const* path, int32_t verbosity);
    bool parseWithWeightDescriptors(void const* model, std::size_t size) { return parse(model, size); }
    template <class Collection>
    bool supportsModel(void const* model, std::size_t size, Collection& graphs, char const* path = nullptr);
    bool supportsModelV2(void const* model, std::size_t size, char const* path = nullptr);
    bool supportsOperator(char const* op) { return op != nullptr && knownOperator(op); }
    int64_t getNbSubgraphs() { return 1; }
    bool isSubgraphSupported(int64_t index) { return index == 0 && supported; }
    int64_t* getSubgraphNodes(int64_t, int64_t& length) { return length = 1, &node; }
    bool loadModelProto(void const* model, std::size_t size, char const* path = nullptr);
    bool loadInitializer(char const* name, void const* data, std::size_t) { return loads && name != nullptr && data != nullptr; }
    bool parseModelProto() { return loads && parse(loaded.data(), loaded.size()); }
    int32_t getNbErrors() { return static_cast<int32_t>(errors.size()); }
    nvonnxparser::IParserError const* getError(int32_t index);
    void clearErrors() { errors.clear(); }
    char const* const* getUsedVCPluginLibraries(int64_t& count) { return count = 0, nullptr; }
    void setFlags(uint32_t all) { flags = all; }
    uint32_t getFlags() { return flags; }
    template <class F> void setFlag(F flag) { flags |= 1U << static_cast<uint32_t>(flag); }
    template <class F> void clearFlag(F flag) { flags &= ~(1U << static_cast<uint32_t>(flag)); }
    template <class F> bool getFlag(F flag) { return (flags >> static_cast<uint32_t>(flag) & 1U) != 0; }
    ITensor const* getLayerOutputTensor(char const* name, int64_t i);

private:
    template <class... A> bool refuse(A&&... what);
    bool check(std::string const& text, Description& found, char const* path);
    void fill(Description const& found);
    ILayer* add(LayerText const& layer, ITensor& from);
};
using ParserObject = nvonnxparser::IParserShim<Parser>;

Parser::~Parser()
{
    for (auto& text : texts)
    {
        text->replace(0, std::strlen(kMAGIC_LINE), "deleted-parser");
        remains().texts.push_back(std::move(text));
    }
    releaseLogger();
}

void Parser::destroy() { delete static_cast<ParserObject*>(static_cast<nvonnxparser::IParser*>(self)); }

template <class... A> bool Parser::refuse(A&&... what)
{
    errors.push_back(std::make_unique<ParserErrorObject>(std::forward<A>(what)...));
    ParserError const& error = errors.back()->impl;
    if (error.index >= 0)
        say(Severity::kERROR, "While parsing node number " + std::to_string(error.index) + " [" + error.op + "]: " + error.layer);
    say(Severity::kERROR, "(" + error.where + "): Error Code " + std::to_string(static_cast<int32_t>(error.kind)) + ": " + error.text);
    return false;
}

/// Everything that can be wrong with a model, before the network is touched.
bool Parser::check(std::string const& text, Description& found, char const* path)
{
    DescriptionError error;
    if (text.compare(0, std::strlen(kMAGIC_LINE), kMAGIC_LINE) != 0)
        return refuse(ParserCode::kMODEL_DESERIALIZE_FAILED, "Failed to parse the ONNX model.", "deserializeOnnxModel");
    if (!read(text, found, error))
        return refuse(ParserCode::kINVALID_GRAPH, "line " + std::to_string(error.line) + ": " + error.text, "importModel", error.line);
    if (!found.data_file.empty())
    {
        std::string file = path == nullptr ? "" : path;
        std::size_t const slash = file.rfind('/');
        file = (slash == std::string::npos ? "" : file.substr(0, slash + 1)) + found.data_file;
        if (!std::ifstream(file))
            return refuse(ParserCode::kMODEL_DESERIALIZE_FAILED, "Failed to open file: " + file, "parseExternalWeights");
    }
    for (std::size_t i = 0; i < found.layers.size(); ++i)
        if (!knownOperator(found.layers[i].op))
            refuse(ParserCode::kINVALID_NODE, "creator && \"Plugin not found, are the plugin name, version, and namespace correct?\"",
                "checkFallbackPluginImporter", 0, static_cast<int32_t>(i), found.layers[i].name, found.layers[i].op);
    return errors.empty();
}

bool Parser::parse(void const* model, std::size_t size, char const* path)
{
    if (model == nullptr && size > 0)
        return refuse(ParserCode::kINVALID_VALUE, "the model is null", "parse");
#if NV_TENSORRT_MAJOR == 8
    if (network->hasImplicitBatchDimension())
        return refuse(ParserCode::kINVALID_VALUE,
            "This version of the ONNX parser only supports TensorRT INetworkDefinitions with an explicit batch dimension. "
            "Please ensure the network was created using the EXPLICIT_BATCH NetworkDefinitionCreationFlag.",
            "parse");
#endif
    say(Severity::kINFO, "----------------------------------------------------------------");
    say(Severity::kINFO, "Producer name:    double");
    if (size == 0)
        return true;
    auto text = std::make_unique<std::string>(textOf(model, size));
    Description found;
    if (!check(*text, found, path))
        return false;
    Dims one{};
    one.nbDims = 1;
    one.d[0] = 1;
    network->addConstant(one, Weights{DataType::kINT8, text->data(), static_cast<int64_t>(text->size())});
    texts.push_back(std::move(text));
    fill(found);
    return true;
}

ILayer* Parser::add(LayerText const& layer, ITensor& from)
{
    Dims window{};
    window.nbDims = 2;
    window.d[0] = window.d[1] = 1;
    ILayer* made = nullptr;
    if (layer.op == "Conv" || layer.op == "Convolution")
        made = network->addConvolutionNd(from, 1, window, Weights{DataType::kFLOAT, &weight, 1}, Weights{DataType::kFLOAT, nullptr, 0});
    else if (layer.op == "Relu" || layer.op == "Activation")
        made = network->addActivation(from, ActivationType::kRELU);
    else if (layer.op == "Softmax")
        made = network->addSoftMax(from);
    else if (layer.op == "Reshape")
        made = network->addShuffle(from);
    else if (layer.op == "Add")
        made = network->addElementWise(from, from, ElementWiseOperation::kSUM);
    else if (layer.op == "MaxPool")
        made = network->addPoolingNd(from, PoolingType::kMAX, window);
    else
        made = network->addIdentity(from);
    std::string const name = layer.name + (isNvidiasPlugin(layer.op) ? " [" + layer.op + "]" : "");
    if (made != nullptr)
        made->setName(name.c_str());
    return made;
}

void Parser::fill(Description const& found)
{
    ITensor* last = nullptr;
    for (auto const& input : found.inputs)
        if (ITensor* made = network->addInput(input.name.c_str(), input.type, input.dims))
            last = last == nullptr ? made : last;
    std::map<std::string, ILayer*> layers;
    for (auto const& layer : found.layers)
        if (last != nullptr)
            if (ILayer* made = add(layer, *last))
            {
                layers[layer.name] = made;
                last = made->getOutput(0);
            }
    std::map<ITensor*, bool> taken;
    for (auto const& output : found.outputs)
    {
        auto const from = layers.find(output.layer);
        ITensor* tensor = from == layers.end() ? last : from->second->getOutput(0);
        // A second output of one layer, and a network without layers, get an identity.
        if (tensor != nullptr && (taken[tensor] || tensor->isNetworkInput()))
        {
            ILayer* identity = add({"output_" + output.name, "Identity"}, *tensor);
            tensor = identity == nullptr ? nullptr : identity->getOutput(0);
        }
        if (tensor == nullptr)
            continue;
        taken[tensor] = true;
        tensor->setName(output.name.c_str());
        network->markOutput(*tensor);
    }
}

bool Parser::parseFromFile(char const* path, int32_t)
{
    std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
    if (!file)
        return refuse(ParserCode::kMODEL_DESERIALIZE_FAILED, "Could not open file " + showText(path), "parseFromFile");
    std::string const all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return parse(all.data(), all.size(), path);
}

bool Parser::supportsModelV2(void const* model, std::size_t size, char const* path)
{
    Description found;
    std::string const text = model == nullptr ? std::string() : textOf(model, size);
    return supported = text.empty() || check(text, found, path);
}

template <class Collection>
bool Parser::supportsModel(void const* model, std::size_t size, Collection& graphs, char const* path)
{
    bool const all = supportsModelV2(model, size, path);
    graphs.push_back({{0}, all});
    return all;
}

bool Parser::loadModelProto(void const* model, std::size_t size, char const*)
{
    loads = model != nullptr;
    loaded = loads ? std::string(static_cast<char const*>(model), size) : "";
    return loads;
}

nvonnxparser::IParserError const* Parser::getError(int32_t index)
{
    return index >= 0 && index < getNbErrors() ? errors[static_cast<std::size_t>(index)].get() : nullptr;
}

ITensor const* Parser::getLayerOutputTensor(char const* name, int64_t i)
{
    for (int32_t k = 0; name != nullptr && k < network->getNbLayers(); ++k)
        if (std::strcmp(network->getLayer(k)->getName(), name) == 0)
            return network->getLayer(k)->getOutput(static_cast<int32_t>(i));
    return nullptr;
}

std::string methodTable()
{
    std::string text;
    auto const line = [&](char const* method, bool by_hand) {
        std::string_view name(method);
        name.remove_prefix(name.find("::") + 2);
        text += by_hand || isSetter(name) || isGetter(name) ? "1 " : "0 ";
        text += std::string(method) + "\n";
    };
    ParserObject::coverage(line);
    ParserErrorObject::coverage(line);
    return text;
}

} // namespace dbl

using namespace dbl;

DOUBLE_API void* createNvOnnxParser_INTERNAL(void* network, void* given, int32_t version) noexcept
{
    static Method const method{"", "createNvOnnxParser_INTERNAL"};
    auto const make = [&]() -> void* {
        if (network == nullptr || !takeLogger(static_cast<ILogger*>(given), "createNvOnnxParser"))
            return nullptr;
        auto* made = new ParserObject(static_cast<INetworkDefinition*>(network));
        auto* parser = static_cast<nvonnxparser::IParser*>(made);
        adopt(made->impl, parser, "IParser");
        return parser;
    };
    Ticket ticket;
    if (observed())
        ticket.enter(method, nullptr, {arg(network), arg(given), arg(version)});
    void* const made = ticket.fails ? number<void*>(ticket.value) : make();
    if (ticket.records)
        ticket.result(arg(made));
    return made;
}

DOUBLE_API int32_t getNvOnnxParserVersion() noexcept
{
    int32_t const pretended = settings().version;
    return pretended != 0 ? pretended : NV_ONNX_PARSER_VERSION;
}
