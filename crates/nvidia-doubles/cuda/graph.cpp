// Captures and graphs. A graph's operations run in the order of their capture.
#include "world.h"

#include <algorithm>

namespace cuda_double
{
namespace
{

constexpr int kGLOBAL = 0;
constexpr int kTHREAD_LOCAL = 1;
constexpr int kRELAXED = 2;

thread_local int thread_mode = kGLOBAL;

/// All streams leave the capture.
void finish(std::shared_ptr<Capture> const& capture)
{
    for (Stream* stream : world().all_streams)
        if (stream->capture == capture)
        {
            stream->capture = nullptr;
            stream->capture_after.clear();
        }
    world().captures.erase(capture);
}

/// Whether everything that the other streams captured comes before what the origin captured last.
bool joined(std::shared_ptr<Capture> const& capture)
{
    auto const& nodes = capture->graph->nodes;
    std::vector<bool> before(nodes.size(), false);
    for (int node : capture->origin->capture_after)
        before[static_cast<std::size_t>(node)] = true;
    for (std::size_t node = nodes.size(); node-- > 0;)
        for (int earlier : nodes[node].after)
            if (before[node])
                before[static_cast<std::size_t>(earlier)] = true;
    for (Stream const* stream : world().all_streams)
        if (stream->capture == capture)
            for (int node : stream->capture_after)
                if (!before[static_cast<std::size_t>(node)])
                    return false;
    return true;
}

CUresult begin(CUstream handle, int mode)
{
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    if (stream == nullptr)
        return why;
    if (mode < kGLOBAL || mode > kRELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream == stream->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != nullptr)
        return CUDA_ERROR_ILLEGAL_STATE;
    auto const capture = std::make_shared<Capture>();
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->id = ++world().numbers;
    stream->capture = capture;
    stream->capture_after.clear();
    world().captures.insert(capture);
    return CUDA_SUCCESS;
}

CUresult instantiate(CUgraphExec* into, CUgraph handle)
{
    auto const found = world().graphs.find(reinterpret_cast<Graph*>(handle));
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (found == world().graphs.end())
        return CUDA_ERROR_INVALID_HANDLE;
    auto const executable = std::make_shared<Executable>();
    executable->number = static_cast<uint32_t>(++world().numbers);
    executable->source = found->second->number;
    executable->nodes = found->second->nodes;
    for (Node& node : executable->nodes)
    {
        node.source = node.number;
        node.number = ++world().numbers;
        tellNode(node.number, node.source);
    }
    world().executables[executable.get()] = executable;
    *into = reinterpret_cast<CUgraphExec>(executable.get());
    return CUDA_SUCCESS;
}

} // namespace

CUresult captureNode(Stream& stream, Node node)
{
    Capture& capture = *stream.capture;
    if (capture.invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    node.after = stream.capture_after;
    node.number = ++world().numbers;
    tellNode(node.number, 0);
    capture.graph->nodes.push_back(std::move(node));
    stream.capture_after = {static_cast<int>(capture.graph->nodes.size()) - 1};
    return CUDA_SUCCESS;
}

CUresult recordCaptured(Stream& stream, std::shared_ptr<Event> const& event, bool external)
{
    if (stream.capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (external)
        return captureNode(stream, {nullptr, event, nullptr, {}, 0, 0});
    event->capture = stream.capture;
    event->capture_after = stream.capture_after;
    return CUDA_SUCCESS;
}

CUresult waitCaptured(std::shared_ptr<Stream> const& stream, std::shared_ptr<Event> const& event, bool external)
{
    if (stream->capture != nullptr && stream->capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (external && stream->capture != nullptr)
        return captureNode(*stream, {nullptr, nullptr, event, {}, 0, 0});
    bool const under_way = event->capture != nullptr && world().captures.count(event->capture) == 1;
    if (!under_way)
    {
        if (stream->capture == nullptr)
            return CUDA_ERROR_INVALID_VALUE; // recorded in a capture that is over
        stream->capture->invalidated = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (stream->capture == nullptr)
    {
        if (stream == stream->context->legacy)
        {
            event->capture->invalidated = true;
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
        stream->capture = event->capture;
        stream->capture_after = event->capture_after;
        return CUDA_SUCCESS;
    }
    if (stream->capture != event->capture)
    {
        stream->capture->invalidated = event->capture->invalidated = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    for (int node : event->capture_after)
        if (std::find(stream->capture_after.begin(), stream->capture_after.end(), node) == stream->capture_after.end())
            stream->capture_after.push_back(node);
    return CUDA_SUCCESS;
}

CUresult forbidWhileCapturing()
{
    CUresult answer = CUDA_SUCCESS;
    for (auto const& capture : world().captures)
    {
        bool const own = capture->thread == std::this_thread::get_id();
        bool const matters = (thread_mode == kGLOBAL && capture->mode == kGLOBAL)
            || (thread_mode != kRELAXED && own && capture->mode != kRELAXED);
        if (matters)
        {
            capture->invalidated = true;
            answer = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return answer;
}

CUresult refuseCapturing(Stream& stream)
{
    stream.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUDA_API CUresult cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    CALL("cuStreamBeginCapture_v2");
    return begin(stream, mode);
}

CUDA_API CUresult cuStreamEndCapture(CUstream handle, CUgraph* into)
{
    CALL("cuStreamEndCapture");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    if (stream == nullptr)
        return why;
    if (into == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *into = nullptr;
    auto const capture = stream->capture;
    if (capture == nullptr)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != kRELAXED && capture->thread != std::this_thread::get_id())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    bool const whole = joined(capture);
    finish(capture);
    if (capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!whole)
        return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    world().graphs[capture->graph.get()] = capture->graph;
    *into = reinterpret_cast<CUgraph>(capture->graph.get());
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuStreamIsCapturing(CUstream handle, int* status)
{
    CALL("cuStreamIsCapturing");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    if (stream == nullptr)
        return why;
    if (status == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *status = stream->capture == nullptr ? 0 : stream->capture->invalidated ? 2 : 1;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuStreamGetCaptureInfo_v2(
    CUstream handle, int* status, uint64_t* id, CUgraph* graph, CUgraphNode const** nodes, std::size_t* count)
{
    CALL("cuStreamGetCaptureInfo_v2");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(handle, why);
    if (stream == nullptr)
        return why;
    if (status == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (graph != nullptr || nodes != nullptr || count != nullptr)
        return CUDA_ERROR_NOT_SUPPORTED; // a graph under construction is not shown
    *status = stream->capture == nullptr ? 0 : stream->capture->invalidated ? 2 : 1;
    if (id != nullptr && stream->capture != nullptr)
        *id = stream->capture->id;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuThreadExchangeStreamCaptureMode(int* mode)
{
    CALL("cuThreadExchangeStreamCaptureMode");
    if (mode == nullptr || *mode < kGLOBAL || *mode > kRELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, thread_mode);
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long)
{
    CALL("cuGraphInstantiateWithFlags");
    return instantiate(executable, graph);
}

CUDA_API CUresult cuGraphInstantiate_v2(CUgraphExec* executable, CUgraph graph, CUgraphNode*, char*, std::size_t)
{
    CALL("cuGraphInstantiate_v2");
    return instantiate(executable, graph);
}

CUDA_API CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count)
{
    CALL("cuGraphGetNodes");
    auto const found = world().graphs.find(reinterpret_cast<Graph*>(handle));
    if (found == world().graphs.end())
        return CUDA_ERROR_INVALID_HANDLE;
    if (count == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    auto& all = found->second->nodes;
    std::size_t const room = nodes == nullptr ? 0 : std::min(*count, all.size());
    for (std::size_t i = 0; i < room; ++i)
        nodes[i] = reinterpret_cast<CUgraphNode>(&all[i]);
    *count = nodes == nullptr ? all.size() : room;
    return CUDA_SUCCESS;
}

CUDA_API CUresult cuGraphUpload(CUgraphExec handle, CUstream)
{
    CALL("cuGraphUpload");
    return world().executables.count(reinterpret_cast<Executable*>(handle)) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUDA_API CUresult cuGraphLaunch(CUgraphExec handle, CUstream on)
{
    CALL("cuGraphLaunch");
    CUresult why = CUDA_SUCCESS;
    auto const stream = streamOf(on, why);
    auto const found = world().executables.find(reinterpret_cast<Executable*>(handle));
    if (found == world().executables.end())
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream == nullptr)
        return why;
    auto const executable = found->second;
    std::vector<TicketPtr> waits;
    if (executable->last != nullptr)
        waits.push_back(executable->last);
    std::vector<TicketPtr> records;
    for (auto const& node : executable->nodes)
    {
        records.push_back(node.records == nullptr ? nullptr : std::make_shared<Ticket>());
        if (node.records != nullptr)
        {
            node.records->ticket = records.back();
            node.records->capture = nullptr;
        }
        if (node.waits != nullptr && node.waits->ticket != nullptr)
            waits.push_back(node.waits->ticket);
    }
    Replay const launch{executable->number, currentCall(), static_cast<uint32_t>(stream->id), 0, executable->source, 0};
    auto const replay = [executable, records, launch](Place const& place, Time start) {
        Time reached = start;
        for (std::size_t i = 0; i < records.size(); ++i)
        {
            replaying() = launch;
            replaying().node = executable->nodes[i].number;
            replaying().source_node = executable->nodes[i].source;
            if (executable->nodes[i].action)
                reached = executable->nodes[i].action(place, reached);
            if (records[i] == nullptr)
                continue;
            Lock const lock(world().lock);
            records[i]->at = reached;
            records[i]->done = true;
            world().progress.notify_all();
        }
        replaying() = {};
        return reached;
    };
    ObservedWork whole{};
    whole.kind = kOBSERVED_GRAPH;
    whole.graph = executable->number;
    whole.source_graph = executable->source;
    return enqueue(stream, observed(*stream, whole, replay), &executable->last, std::move(waits));
}

CUDA_API CUresult cuGraphExecDestroy(CUgraphExec handle)
{
    CALL("cuGraphExecDestroy");
    return world().executables.erase(reinterpret_cast<Executable*>(handle)) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUDA_API CUresult cuGraphDestroy(CUgraph handle)
{
    CALL("cuGraphDestroy");
    return world().graphs.erase(reinterpret_cast<Graph*>(handle)) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

} // namespace cuda_double
