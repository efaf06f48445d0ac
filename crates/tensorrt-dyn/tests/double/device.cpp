#include "device.h"

namespace dbl
{

bool computeOnDevice(Frame const&, std::string&) { return false; }
bool finishDevice() { return true; }

} // namespace dbl
