#include "nn/layers/pool.h"

#include "base/error.h"

namespace lockstep {

Pool::Pool(LayerLine& line, PoolKind pool_kind) : pool_(pool_kind) {
  line.take_extent("the window", window_.height, window_.width, 1);
  line.take_window_options(window_, true);
  if (window_.pad_y * 2 > window_.height || window_.pad_x * 2 > window_.width)
    throw UserError("layer \"{}\": padding {}x{} is more than half of the window {}x{}",
                    line.text(), window_.pad_y, window_.pad_x, window_.height, window_.width);
}

SampleShape Pool::output(const SampleShape& in) const {
  if (!in.shape.is_image())
    throw UserError("needs an image (height x width x channels), but its input is {}",
                    in.shape.text());
  if (in.shape.height() + 2 * window_.pad_y < window_.height ||
      in.shape.width() + 2 * window_.pad_x < window_.width)
    throw UserError("its window {}x{} does not fit into its input {}", window_.height,
                    window_.width, in.shape.text());
  return Shape{window_.rows_from(in.shape.height()), window_.columns_from(in.shape.width()),
               in.shape.channels()};
}

Shape Pool::needed_input(const Shape& in, const Shape& out) const {
  return {window_.rows_for(out.height(), in.height()), window_.columns_for(out.width(), in.width()),
          in.channels()};
}

bool Pool::is_plain_max_2x2() const {
  const Window plain{.height = 2, .width = 2, .stride_y = 2, .stride_x = 2};
  return pool_ == PoolKind::max && window_ == plain;
}

std::unique_ptr<Kernel> Pool::prepare(Device& device, const Placement& p) const {
  return device.prepare(
      PoolSpec{.batch = p.batch, .in = p.in, .out = p.out, .window = window_, .kind = pool_});
}

}  // namespace lockstep
