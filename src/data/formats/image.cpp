#include "data/formats/image.h"

#include <png.h>
#include <turbojpeg.h>

#include <memory>

#include "base/error.h"

namespace lockstep {
namespace {

// Checked before allocation: a file of a few hundred bytes can claim 65,535 x 65,535 pixels.
constexpr int64_t most_pixels = int64_t{64} << 20;
constexpr uint64_t most_file_bytes = uint64_t{256} << 20;

Image blank(const fs::path& path, int64_t height, int64_t width, int64_t channels) {
  if (height > most_pixels / width)
    throw UserError("{} is an image of {} x {} pixels; at most {} pixels are accepted",
                    path.string(), width, height, most_pixels);
  Image image{Shape{height, width, channels}, {}};
  image.pixels.resize(static_cast<size_t>(image.shape.elements()));
  return image;
}

Image read_png(const fs::path& path, const std::vector<uint8_t>& file) {
  png_image control{};
  control.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> freed(&control, png_image_free);
  if (!png_image_begin_read_from_memory(&control, file.data(), file.size()))
    throw UserError("{} is not a readable PNG image: {}", path.string(), control.message);
  const bool colour = (control.format & PNG_FORMAT_FLAG_COLOR) != 0;
  control.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  control.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  Image image = blank(path, control.height, control.width, colour ? 3 : 1);
  const png_color white{255, 255, 255};
  if (!png_image_finish_read(&control, &white, image.pixels.data(), 0, nullptr))
    throw UserError("{} is not a readable PNG image: {}", path.string(), control.message);
  return image;
}

Image read_jpeg(const fs::path& path, const std::vector<uint8_t>& file) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (!decoder) throw Failure("cannot start the JPEG decoder");
  const auto bytes = static_cast<unsigned long>(file.size());  // the library's type
  int width = 0, height = 0, sampling = 0, space = 0;
  if (tjDecompressHeader3(decoder.get(), file.data(), bytes, &width, &height, &sampling, &space) !=
      0)
    throw UserError("{} is not a readable JPEG image: {}", path.string(),
                    tjGetErrorStr2(decoder.get()));
  if (width <= 0 || height <= 0)  // the decoder accepts files that end before their frame
    throw UserError("{} is a damaged JPEG image: it ends within its header", path.string());
  if (space == TJCS_CMYK || space == TJCS_YCCK)
    throw UserError("{} is a JPEG image in print colours (CMYK); save it as RGB", path.string());
  const bool colour = space != TJCS_GRAY;
  Image image = blank(path, height, width, colour ? 3 : 1);
  // Warnings count as errors: libjpeg fills the missing part of a truncated file with grey.
  if (tjDecompress2(decoder.get(), file.data(), bytes, image.pixels.data(), width, 0, height,
                    colour ? TJPF_RGB : TJPF_GRAY, TJFLAG_LIMITSCANS) != 0)
    throw UserError("{} is a damaged JPEG image: {}", path.string(), tjGetErrorStr2(decoder.get()));
  return image;
}

}  // namespace

Image read_image(const fs::path& path) {
  std::error_code error;
  if (const auto bytes = fs::file_size(path, error); !error && bytes > most_file_bytes)
    throw UserError("{} has {} bytes; at most {} are accepted for an image", path.string(), bytes,
                    most_file_bytes);
  const std::vector<uint8_t> file = read_bytes(path);
  if (file.size() >= 8 && png_sig_cmp(file.data(), 0, 8) == 0) return read_png(path, file);
  if (file.size() >= 3 && file[0] == 0xFF && file[1] == 0xD8 && file[2] == 0xFF)
    return read_jpeg(path, file);
  throw UserError("{} ({} bytes) is neither a PNG nor a JPEG image", path.string(), file.size());
}

void write_png(const fs::path& path, const Image& image) {
  png_image control{};
  control.version = PNG_IMAGE_VERSION;
  control.width = static_cast<png_uint_32>(image.shape.width());
  control.height = static_cast<png_uint_32>(image.shape.height());
  control.format = image.shape.channels() == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::vector<uint8_t> file(PNG_IMAGE_PNG_SIZE_MAX(control));
  png_alloc_size_t bytes = file.size();
  if (!png_image_write_to_memory(&control, file.data(), &bytes, 0, image.pixels.data(), 0, nullptr))
    throw Failure("cannot write {}: {}", path.string(), control.message);
  write_file(path, std::span<const uint8_t>(file).first(bytes));
}

}  // namespace lockstep
