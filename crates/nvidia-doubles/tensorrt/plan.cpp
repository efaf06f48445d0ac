#include "plan.h"

#include "core.h"

#include <cstring>
#include <sstream>

namespace dbl
{
namespace
{

using nvinfer1::ErrorCode;

constexpr char kMAGIC[9] = "DBLPLAN1";

uint64_t hashOf(char const* data, std::size_t size)
{
    uint64_t hash = 14695981039346656037ULL;
    for (std::size_t i = 0; i < size; ++i)
        hash = (hash ^ static_cast<unsigned char>(data[i])) * 1099511628211ULL;
    return hash;
}

std::string dimsWord(nvinfer1::Dims const& dims)
{
    std::string text = "d";
    for (int32_t i = 0; i < dims.nbDims; ++i)
        text += "," + std::to_string(dims.d[i]);
    return text;
}

nvinfer1::Dims wordDims(std::string const& word)
{
    nvinfer1::Dims dims{};
    std::istringstream parts(word);
    std::string part;
    std::getline(parts, part, ',');
    while (std::getline(parts, part, ',') && dims.nbDims < nvinfer1::Dims::MAX_DIMS)
        dims.d[dims.nbDims++] = static_cast<std::remove_reference_t<decltype(dims.d[0])>>(std::strtoll(part.c_str(), nullptr, 10));
    return dims;
}

void append(std::string& out, uint64_t value) { out.append(reinterpret_cast<char const*>(&value), sizeof(value)); }

uint64_t numberAt(void const* blob, std::size_t at)
{
    uint64_t value = 0;
    std::memcpy(&value, static_cast<char const*>(blob) + at, sizeof(value));
    return value;
}

void readLine(std::istringstream& line, Plan& plan)
{
    std::string key;
    line >> key;
    if (key == "flavour")
        line >> plan.flavour;
    else if (key == "number")
        line >> plan.number;
    else if (key == "name")
        std::getline(line >> std::ws, plan.name);
    else if (key == "option")
    {
        std::string name;
        line >> name;
        std::getline(line >> std::ws, plan.options[name]);
    }
    else if (key == "profile" || key == "values")
    {
        std::size_t index = 0;
        std::string tensor;
        line >> index >> tensor;
        if (plan.profiles.size() <= index)
            plan.profiles.resize(index + 1);
        if (tensor == "-")
            return; // a profile without dynamic tensors
        Range& range = plan.profiles[index][tensor];
        range.is_values = key == "values";
        for (std::size_t i = 0; i < 3; ++i)
        {
            std::string word;
            line >> word;
            if (range.is_values)
                range.values[i] = std::strtoll(word.c_str(), nullptr, 10);
            else
                range.dims[i] = wordDims(word);
        }
    }
}

bool refuse(PlanError& error, ErrorCode code, std::string text)
{
    error = {code, std::move(text)};
    return false;
}

} // namespace

char const* flavour() { return DOUBLE_RTX ? "rtx" : "trt"; }

int32_t libraryVersion()
{
    int32_t const pretended = settings().version;
    return pretended != 0 ? pretended : static_cast<int32_t>(NV_TENSORRT_VERSION);
}

std::string Plan::bytes() const
{
    std::ostringstream text;
    text << "flavour " << flavour << "\nnumber " << number << "\nname " << name << "\n";
    for (auto const& option : options)
        text << "option " << option.first << " " << option.second << "\n";
    for (std::size_t i = 0; i < profiles.size(); ++i)
    {
        text << "profile " << i << " -\n";
        for (auto const& entry : profiles[i])
        {
            text << (entry.second.is_values ? "values " : "profile ") << i << " " << entry.first;
            for (std::size_t k = 0; k < 3; ++k)
                text << " " << (entry.second.is_values ? std::to_string(entry.second.values[k]) : dimsWord(entry.second.dims[k]));
            text << "\n";
        }
    }
    text << network.text();
    std::string body;
    append(body, text.str().size());
    body += text.str();
    body.append(network.weights_bytes, 0);
    std::string whole(kMAGIC, 8);
    append(whole, hashOf(body.data(), body.size()));
    return whole + body;
}

int64_t Plan::option(std::string const& key, int64_t fallback) const
{
    auto const at = options.find(key);
    if (at == options.end() || at->second == "true")
        return at == options.end() ? fallback : 1;
    return std::strtoll(at->second.c_str(), nullptr, 10);
}

bool readPlan(void const* blob, std::size_t size, Plan& plan, PlanError& error)
{
    if (blob == nullptr || size < kPLAN_HEADER || std::memcmp(blob, kMAGIC, 8) != 0)
        return refuse(error, ErrorCode::kUNSPECIFIED_ERROR,
            "Serialization assertion magicTagRead == kMAGIC_TAG failed.Magic tag does not match");
    uint64_t const length = numberAt(blob, 16);
    auto const* data = static_cast<char const*>(blob);
    if (length > size - kPLAN_HEADER)
        return refuse(error, ErrorCode::kUNSPECIFIED_ERROR,
            "Serialization assertion engine size failed. The plan has " + std::to_string(size)
                + " bytes and should have more: it is cut short");
    if (hashOf(data + 16, size - 16) != numberAt(blob, 8))
        return refuse(error, ErrorCode::kUNSPECIFIED_ERROR, "Serialization assertion failed. Checksum does not match");
    std::string const text(data + kPLAN_HEADER, length);
    std::size_t const network = text.find(kMAGIC_LINE);
    std::istringstream lines(text.substr(0, network));
    for (std::string line; std::getline(lines, line);)
    {
        std::istringstream words(line);
        readLine(words, plan);
    }
    if (plan.flavour != flavour() || plan.number != libraryVersion())
        return refuse(error, ErrorCode::kINVALID_CONFIG,
            "The engine plan file is not compatible with this version of TensorRT, expecting library version "
                + std::to_string(libraryVersion()) + " (" + flavour() + ") got " + std::to_string(plan.number) + " ("
                + plan.flavour + "), please rebuild.");
    DescriptionError wrong;
    if (network == std::string::npos || !read(text.substr(network), plan.network, wrong))
        return refuse(error, ErrorCode::kUNSPECIFIED_ERROR, "Serialization assertion failed: " + wrong.text);
    return true;
}

} // namespace dbl
