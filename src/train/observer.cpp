#include "train/observer.h"

namespace lockstep {

const char* ending_name(Ending ending) {
  switch (ending) {
    case Ending::finished:
      return "finished";
    case Ending::early:
      return "stopped early";
    case Ending::interrupted:
      return "interrupted";
  }
  return "";
}

}  // namespace lockstep
