#include "nn/layers/conv.h"

#include "base/error.h"

namespace lockstep {

Conv::Conv(LayerLine& line) : filters_(line.take_count("the number of filters")) {
  line.take_extent("the kernel", window_.height, window_.width, 1);
  line.take_window_options(window_, false);
}

std::string Conv::text() const {
  return fmt::format("conv {} {}", filters_, window_text(window_, false));
}

SampleShape Conv::output(const SampleShape& in) const {
  if (!in.shape.is_image())
    throw UserError("needs an image (height x width x channels), but its input is {}",
                    in.shape.text());
  const int64_t rows = in.shape.height() + 2 * window_.pad_y;
  const int64_t columns = in.shape.width() + 2 * window_.pad_x;
  if (rows < window_.height || columns < window_.width)
    throw UserError(
        "its kernel {}x{} does not fit into its input {}{}", window_.height, window_.width,
        in.shape.text(),
        window_.pad_y + window_.pad_x > 0 ? fmt::format(" (padded: {}x{})", rows, columns) : "");
  return Shape{window_.rows_from(in.shape.height()), window_.columns_from(in.shape.width()),
               filters_};
}

std::vector<ParameterSpec> Conv::parameters(const SampleShape& in) const {
  const int64_t area = window_.height * window_.width, channels = in.shape.channels();
  return {{.name = "weight",
           .stored = {filters_, window_.height, window_.width, channels},
           .axes = {0, 3, 1, 2},
           .canonical = {filters_, channels, window_.height, window_.width},
           .role = Role::weight,
           .fan_in = area * channels,
           .fan_out = area * filters_},
          {.name = "bias",
           .stored = {filters_},
           .axes = {0},
           .canonical = {filters_},
           .role = Role::bias,
           .fan_in = area * channels,
           .fan_out = area * filters_}};
}

double Conv::flops(const SampleShape& in) const {
  return 2.0 * static_cast<double>(output(in).shape.elements() * window_.height * window_.width *
                                   in.shape.channels());
}

Shape Conv::needed_input(const Shape& in, const Shape& out) const {
  return {window_.rows_for(out.height(), in.height()), window_.columns_for(out.width(), in.width()),
          in.channels()};
}

std::unique_ptr<Kernel> Conv::prepare(Device& device, const Placement& p) const {
  return device.prepare(ConvSpec{.batch = p.batch,
                                 .in = p.in,
                                 .out = p.out,
                                 .window = window_,
                                 .relu = p.relu,
                                 .max_pool = p.max_pool,
                                 .needs_dx = p.needs_dx});
}

}  // namespace lockstep
