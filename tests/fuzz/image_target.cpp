#include "data/formats/image.h"
#include "data/formats/image_fit.h"
#include "data/jpeg_testing.h"
#include "fuzz_target.h"

namespace lockstep {
namespace {

void read(const std::string& input) {
  const Image image = read_image(scratch_file("image", input));
  expect(static_cast<int64_t>(image.pixels.size()) == image.shape.elements(),
         "an image has all of its pixels");
  for (const Shape& wanted : {Shape{28, 28, 1}, Shape{7, 40, 3}})
    expect(fit_image(image, wanted).shape == wanted, "an image is fitted to the requested shape");
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const int64_t channels : {1, 3}) {
    Image image{Shape{5, 6, channels}, {}};
    for (int64_t i = 0; i < image.shape.elements(); ++i)
      image.pixels.push_back(static_cast<uint8_t>(40 * i));
    const fs::path path = scratch_folder() / "seed.png";
    write_png(path, image);
    all.push_back(read_text(path));
    all.push_back(text_of(jpeg_of(image)));
  }
  return all;
}

}  // namespace

FuzzTarget image_target() { return {"image", read, seeds}; }

}  // namespace lockstep
