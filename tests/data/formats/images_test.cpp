#include <zlib.h>

#include "base/error.h"
#include "data/data_testing.h"
#include "data/datasets/image_dataset.h"
#include "data/formats/image.h"
#include "data/formats/image_fit.h"
#include "data/jpeg_testing.h"
#include "data/sources/registry.h"

namespace lockstep {
namespace {

Image plain(int64_t height, int64_t width, int64_t channels, uint8_t shade) {
  Image image{Shape{height, width, channels}, {}};
  image.pixels.assign(static_cast<size_t>(image.shape.elements()), shade);
  return image;
}

class ImageFile : public InFolder {
 protected:
  std::string error_for(const Content& content) {
    const fs::path path = write("picture.png", content);
    return error_of<UserError>([&] { read_image(path); });
  }
  Content png_of(const Image& image) {
    write_png(folder() / "made.png", image);
    return read_bytes(folder() / "made.png");
  }
};

TEST_F(ImageFile, IsUnchangedAfterWritingAndReadingPng) {
  for (const int64_t channels : {1, 3}) {
    Image image = plain(3, 5, channels, 0);
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * 5);
    const Image read = read_image(write("picture.png", png_of(image)));
    EXPECT_EQ(read.shape, image.shape);
    EXPECT_EQ(read.pixels, image.pixels);
  }
}

TEST_F(ImageFile, IsReadAsJpegByContentNotByName) {
  const Image read = read_image(write("picture.png", jpeg_of(plain(8, 16, 1, 200))));
  EXPECT_EQ(read.shape, (Shape{8, 16, 1}));
  EXPECT_NEAR(read.pixels[5], 200, 2);
}

TEST_F(ImageFile, IsRefusedWhenItIsNotAnImage) {
  expect_says(error_for({'G', 'I', 'F', '8'}), {"picture.png (4 bytes)", "neither"});
  expect_says(error_for({}), {"picture.png (0 bytes)"});
}

TEST_F(ImageFile, IsRefusedWhenTruncatedOrDamaged) {
  Content png = png_of(plain(40, 40, 3, 9));
  png.resize(png.size() - 20);
  expect_says(error_for(png), {"picture.png", "PNG"});
  png.resize(20);
  expect_says(error_for(png), {"picture.png", "PNG"});
  Content jpeg = jpeg_of(plain(64, 64, 3, 9));
  jpeg.resize(jpeg.size() - 10);
  expect_says(error_for(jpeg), {"picture.png", "JPEG"});
  jpeg.resize(30);
  expect_says(error_for(jpeg), {"picture.png", "JPEG"});
}

TEST_F(ImageFile, IsRefusedBeforeAllocationWhenItClaimsToBeHuge) {
  Content jpeg = jpeg_of(plain(8, 8, 1, 0));
  for (size_t i = 0; i + 9 < jpeg.size(); ++i)
    if (jpeg[i] == 0xFF && jpeg[i + 1] == 0xC0)  // the frame header: its height and width
      for (size_t k = 5; k < 9; ++k) jpeg[i + k] = 0xFE;
  expect_says(error_for(jpeg), {"picture.png", "65278 x 65278", "67108864"});
  Content png = png_of(plain(8, 8, 1, 0));
  for (size_t i = 16; i < 24; ++i) png[i] = (i % 4 < 2) ? 0 : 0xFE;
  const auto sum = static_cast<uint32_t>(crc32(0, png.data() + 12, 17));
  for (size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
  expect_says(error_for(png), {"picture.png", "65278 x 65278", "67108864"});
}

TEST(FitImage, AveragesTheAreaWhenItShrinks) {
  Image image{Shape{2, 4, 1}, {0, 100, 10, 20, 100, 200, 30, 40}};
  EXPECT_EQ(fit_image(image, {1, 2, 1}).pixels, (Content{100, 25}));
}

TEST(FitImage, InterpolatesWhenItGrowsAndKeepsPlainAreas) {
  const Image grown = fit_image({Shape{1, 2, 1}, {0, 100}}, {1, 4, 1});
  EXPECT_EQ(grown.pixels, (Content{0, 25, 75, 100}));
  for (const uint8_t value : fit_image(plain(7, 5, 3, 77), {11, 3, 3}).pixels) EXPECT_EQ(value, 77);
}

TEST(FitImage, TurnsColourToGreyAndBack) {
  EXPECT_EQ(fit_image({Shape{1, 1, 3}, {255, 0, 0}}, {1, 1, 1}).pixels, (Content{76}));
  EXPECT_EQ(fit_image({Shape{1, 1, 1}, {9}}, {1, 1, 3}).pixels, (Content{9, 9, 9}));
  EXPECT_THROW(fit_image({Shape{1, 1, 1}, {9}}, {4}), UserError);
}

class ImagesSource : public InFolder {
 protected:
  void put(const std::string& name, const Image& image) {
    make_folder((folder() / name).parent_path());
    write_png(folder() / name, image);
  }
  SourceData load(int workers = 0) {
    DataConfig config;
    config.name = "images";
    config.path = folder();
    config.workers = workers;
    return find_source("images").load(config, {}, nullptr);
  }
  std::string error() {
    return error_of<UserError>([&] { load(); });
  }
};

TEST_F(ImagesSource, NamesClassesAfterFolders) {
  put("dog/1.png", plain(2, 3, 3, 10));
  put("cat/1.PNG", plain(2, 3, 3, 20));
  write("cat/notes.txt", "not an image");
  write("README", "beside the classes");
  const SourceData data = load();
  EXPECT_EQ(data.samples->classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(data.samples->size(), 2);
  EXPECT_EQ(data.test_rows(), 0);
  EXPECT_EQ(dynamic_cast<const ImageDataset&>(*data.samples).pixels(0)[0], 20);
}

TEST_F(ImagesSource, KeepsTrainAndTestFoldersSeparate) {
  put("train/dog/1.png", plain(2, 3, 1, 10));
  put("train/cat/1.png", plain(2, 3, 1, 20));
  put("test/dog/1.png", plain(2, 3, 1, 30));
  const SourceData data = load();
  EXPECT_EQ(data.train_rows, 2);
  EXPECT_EQ(data.test_rows(), 1);
  EXPECT_EQ(data.samples->label(2), 1);
  put("test/dogs/1.png", plain(2, 3, 1, 30));
  expect_says(error(), {"dogs", "did you mean 'dog'"});
}

TEST_F(ImagesSource, NamesTheFileAndBothSizesWhenTheyDiffer) {
  put("cat/1.png", plain(2, 3, 1, 0));
  put("dog/odd.png", plain(4, 3, 1, 0));
  expect_says(error(), {"odd.png is 4x3x1", "1.png is 2x3x1"});
}

TEST_F(ImagesSource, WorkersDecodeTheSameImages) {
  for (uint8_t i = 1; i <= 9; ++i) put(fmt::format("cat/{}.png", i), plain(2, 3, 1, i));
  for (const int workers : {0, 2, 4, 20}) {
    const SourceData data = load(workers);
    const auto& images = dynamic_cast<const ImageDataset&>(*data.samples);
    for (int64_t i = 0; i < 9; ++i)
      EXPECT_EQ(images.pixels(i)[5], i + 1) << workers << " workers, image " << i;
  }
  put("cat/7.png", plain(2, 4, 1, 7));
  expect_says(error_of<UserError>([&] { load(4); }), {"7.png is 2x4x1", "1.png is 2x3x1"});
}

TEST_F(ImagesSource, SaysWhenAFolderHasNoClassesOrNoImages) {
  expect_says(error(), {folder().string(), "no sub-folders"});
  make_folder(folder() / "cat");
  expect_says(error(), {"cat", "no PNG or JPEG"});
}

}  // namespace
}  // namespace lockstep
