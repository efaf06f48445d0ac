#include "description.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace dbl
{
namespace
{

using nvinfer1::DataType;

struct TypeName
{
    char const* name;
    int32_t value;
    std::size_t bytes;
};

// By number, since not every era's headers have every enumerator; numbers never changed.
constexpr TypeName kTYPES[] = {{"f32", 0, 4}, {"f16", 1, 2}, {"i8", 2, 1}, {"i32", 3, 4}, {"bool", 4, 1}, {"u8", 5, 1},
    {"fp8", 6, 1}, {"bf16", 7, 2}, {"i64", 8, 8}};

bool typeOf(std::string const& name, DataType& type)
{
    for (auto const& known : kTYPES)
        if (name == known.name)
        {
            type = static_cast<DataType>(known.value);
            return true;
        }
    return false;
}

bool wholeNumber(std::string const& text, int64_t& value)
{
    std::istringstream in(text);
    return static_cast<bool>(in >> value) && in.eof();
}

bool dimsOf(std::string const& text, TensorText& tensor)
{
    tensor.dims.nbDims = 0;
    if (text == "scalar")
        return true;
    std::string part;
    std::istringstream parts(text);
    // Words may hold an x: a dim is split off only before a digit, a sign, a star or a letter after `x`; so words are
    // read up to the next x as well, and must not contain one.
    while (std::getline(parts, part, 'x'))
    {
        if (part.empty() || tensor.dims.nbDims == nvinfer1::Dims::MAX_DIMS)
            return false;
        int64_t value = -1;
        std::string word;
        int64_t limit = 0;
        if (part[0] == '*')
        {
            if (!wholeNumber(part.substr(1), limit) || limit < 1)
                return false;
        }
        else if (std::isalpha(static_cast<unsigned char>(part[0])) != 0)
            word = part;
        else if (!wholeNumber(part, value) || value < -1)
            return false;
        tensor.dims.d[tensor.dims.nbDims++]
            = static_cast<std::remove_reference_t<decltype(tensor.dims.d[0])>>(limit > 0 ? -1 : value);
        tensor.words.push_back(word);
        tensor.limits.push_back(limit);
    }
    return tensor.dims.nbDims > 0;
}

std::string dimsText(TensorText const& tensor)
{
    if (tensor.dims.nbDims == 0)
        return "scalar";
    std::string text;
    for (int32_t i = 0; i < tensor.dims.nbDims; ++i)
    {
        auto const at = static_cast<std::size_t>(i);
        text += i == 0 ? "" : "x";
        if (tensor.limits[at] > 0)
            text += "*" + std::to_string(tensor.limits[at]);
        else
            text += tensor.words[at].empty() ? std::to_string(tensor.dims.d[i]) : tensor.words[at];
    }
    return text;
}

/// One line, split at spaces. Empty text: understood.
std::string readLine(std::vector<std::string> const& words, Description& into)
{
    std::string const& key = words[0];
    if (key == "input" || key == "output")
    {
        TensorText tensor;
        if (words.size() < 4 || words.size() > (key == "input" ? 4U : 5U))
            return key + " wants NAME TYPE DIMS";
        tensor.name = words[1];
        if (!typeOf(words[2], tensor.type))
            return "no such type: " + words[2];
        if (!dimsOf(words[3], tensor))
            return "not dimensions: " + words[3];
        tensor.layer = words.size() == 5 ? words[4] : "";
        if (key == "input" && tensor.dataDependent())
            return "an input's dim cannot be known only after the run";
        (key == "input" ? into.inputs : into.outputs).push_back(tensor);
        return "";
    }
    if (key == "shape_input" && words.size() == 2)
    {
        TensorText tensor;
        tensor.name = words[1];
        tensor.type = DOUBLE_ERA_A ? DataType::kINT32 : static_cast<DataType>(8);
        tensor.dims.nbDims = 1;
        tensor.dims.d[0] = 1;
        tensor.words.emplace_back();
        tensor.limits.push_back(0);
        tensor.shape_input = true;
        into.inputs.push_back(tensor);
        return "";
    }
    if (key == "layer" && words.size() == 3)
    {
        into.layers.push_back({words[1], words[2]});
        return "";
    }
    if (key == "data_file" && words.size() == 2)
    {
        into.data_file = words[1];
        return "";
    }
    uint64_t* const number = key == "weights_bytes" ? &into.weights_bytes
        : key == "compute_us"                       ? &into.compute_us
        : key == "traffic_bytes"                    ? &into.traffic_bytes
        : key == "launches"                         ? &into.launches
        : key == "launch_us"                        ? &into.launch_us
        : key == "kernel_us"                        ? &into.kernel_us
        : key == "device_memory"                    ? &into.device_memory
                                                    : nullptr;
    int64_t value = 0;
    if (number == nullptr || words.size() != 2 || !wholeNumber(words[1], value) || value < 0)
        return "not understood";
    *number = static_cast<uint64_t>(value);
    return "";
}

} // namespace

bool TensorText::dataDependent() const
{
    return std::any_of(limits.begin(), limits.end(), [](int64_t limit) { return limit > 0; });
}

TensorText const* Description::find(std::string const& name) const
{
    for (auto const* list : {&inputs, &outputs})
        for (auto const& tensor : *list)
            if (tensor.name == name)
                return &tensor;
    return nullptr;
}

std::string Description::text() const
{
    std::ostringstream out;
    out << kMAGIC_LINE << "\n";
    for (auto const& t : inputs)
        if (t.shape_input)
            out << "shape_input " << t.name << "\n";
        else
            out << "input " << t.name << " " << nameOf(t.type) << " " << dimsText(t) << "\n";
    for (auto const& t : outputs)
        out << "output " << t.name << " " << nameOf(t.type) << " " << dimsText(t) << (t.layer.empty() ? "" : " ")
            << t.layer << "\n";
    for (auto const& layer : layers)
        out << "layer " << layer.name << " " << layer.op << "\n";
    out << "weights_bytes " << weights_bytes << "\ncompute_us " << compute_us << "\ntraffic_bytes " << traffic_bytes
        << "\nlaunches " << launches << "\nlaunch_us " << launch_us << "\nkernel_us " << kernel_us << "\ndevice_memory "
        << device_memory << "\n";
    return out.str();
}

bool read(std::string const& text, Description& into, DescriptionError& error)
{
    std::istringstream lines(text);
    std::string line;
    for (error.line = 1; std::getline(lines, line); ++error.line)
    {
        std::istringstream split(line.substr(0, line.find('#')));
        std::vector<std::string> words;
        for (std::string word; split >> word;)
            words.push_back(word);
        if (error.line == 1)
        {
            error.text = "the first line is not " + std::string(kMAGIC_LINE);
            if (words.size() != 1 || words[0] != kMAGIC_LINE)
                return false;
        }
        else if (!words.empty())
        {
            error.text = readLine(words, into);
            if (!error.text.empty())
                return false;
        }
    }
    error.text = "no line";
    return error.line > 1;
}

std::size_t bytesOf(DataType type)
{
    for (auto const& known : kTYPES)
        if (known.value == static_cast<int32_t>(type))
            return known.bytes;
    return 1;
}

char const* nameOf(DataType type)
{
    for (auto const& known : kTYPES)
        if (known.value == static_cast<int32_t>(type))
            return known.name;
    return "i8";
}

uint64_t volume(nvinfer1::Dims const& dims)
{
    uint64_t product = 1;
    for (int32_t i = 0; i < dims.nbDims; ++i)
        product = dims.d[i] < 0 ? 0 : product * static_cast<uint64_t>(dims.d[i]);
    return dims.nbDims < 0 ? 0 : product;
}

bool isDynamic(nvinfer1::Dims const& dims) { return std::any_of(dims.d, dims.d + dims.nbDims, [](auto d) { return d < 0; }); }

} // namespace dbl
