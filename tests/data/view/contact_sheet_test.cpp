#include "data/view/contact_sheet.h"
#include "data/view/terminal_sheet.h"

#include "base/error.h"
#include "base/with_commas.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

ImageDataset four_shades() {
  Content pixels;
  for (const uint8_t shade : {0, 80, 160, 255}) pixels.insert(pixels.end(), 32 * 32, shade);
  return {
      Shape{32, 32, 1}, pixels, {0, 1, 0, 1}, {"dark", "a class with a very long name of its own"}};
}

TEST(ContactSheet, PutsImagesInASquareGridWithAGap) {
  const ImageDataset images = four_shades();
  const Image sheet = contact_sheet(images, std::vector<int64_t>{0, 1, 2, 3});
  EXPECT_EQ(sheet.shape, (Shape{2 + 2 * 98, 2 + 2 * 98, 1}));  // enlarged three times
  const auto at = [&](int64_t y, int64_t x) {
    return sheet.pixels[static_cast<size_t>(y * sheet.shape.width() + x)];
  };
  EXPECT_EQ(at(0, 0), 96);
  EXPECT_EQ(at(2, 2), 0);
  EXPECT_EQ(at(97, 100), 80);
  EXPECT_EQ(at(100, 2), 160);
  EXPECT_EQ(at(195, 195), 255);
}

TEST(ContactSheet, RefusesToBecomeHuge) {
  const ImageDataset images = four_shades();
  const std::vector<int64_t> rows(100000, 0);
  expect_says(error_of<UserError>([&] { contact_sheet(images, rows); }),
              {"100000 images", "fewer"});
  expect_says(error_of<UserError>([&] { contact_sheet(images, {}); }), {"at least one"});
}

TEST(TerminalSheet, FitsTheWidthAndNamesTheClasses) {
  const ImageDataset images = four_shades();
  const std::string text = terminal_sheet(images, std::vector<int64_t>{0, 1, 3}, 70, false);
  expect_says(text, {"dark", "a class with a very long name of", "@@@@"});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  size_t begin = 0, longest = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    longest = std::max(longest, end - begin);
  EXPECT_EQ(longest, 66u);  // two images of 32 and a blank after each
}

TEST(TerminalSheet, ShowsTwoPixelsPerCharacterInColour) {
  const std::string text = terminal_sheet(four_shades(), std::vector<int64_t>{1}, 80, true);
  expect_says(text, {"\x1b[38;2;80;80;80;48;2;80;80;80m\u2580", "\x1b[0m"});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 17);  // the class, then 16 lines
}

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(60000), "60,000");
  EXPECT_EQ(with_commas(-1234567), "-1,234,567");
}

}  // namespace
}  // namespace lockstep
