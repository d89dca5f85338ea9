// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad/custom.hpp>

#include "instantiate.hpp"
#include "plan.hpp"
#include "transfer.hpp"

#include <array>

namespace frechet::detail {
namespace {

/// Operands as packed columns: those that are not so already get scratch.
template <class Exec>
class PackedOperands {
 public:
  PackedOperands(Context<Exec>& ctx, const Operand* operands, std::size_t n) : n_(n) {
    for (std::size_t i = 0; i < n; ++i) {
      user_[i] = own_[i] = operands[i];
      const Operand dense = packed(operands[i].type, operands[i].data);
      const bool same = (dense.type.rows <= 1 || user_[i].row_stride == 1) &&
                        (dense.type.cols <= 1 || user_[i].col_stride == dense.col_stride);
      if (user_[i].data && !same) own_[i] = packed(dense.type, ctx.arena().take(dense.type.bytes()));
    }
  }
  /// With scratch for all that are there, so that results can be added to what is there.
  void separate(Context<Exec>& ctx, std::size_t i) {
    if (user_[i].data && own_[i].data == user_[i].data)
      own_[i] = packed(user_[i].type, ctx.arena().take(user_[i].type.bytes()));
  }
  /// Scratch of zeros for an operand that is absent.
  void zero(Context<Exec>& ctx) {
    own_[0] = packed(user_[0].type, ctx.arena().take(user_[0].type.bytes()));
    transfer(ctx, Operand{user_[0].type}, own_[0], Store::overwrite);
  }
  void load(Context<Exec>& ctx) {
    for (std::size_t i = 0; i < n_; ++i)
      if (own_[i].data != user_[i].data) transfer(ctx, user_[i], own_[i], Store::overwrite);
  }
  void store(Context<Exec>& ctx, std::size_t i, Store how) {
    if (own_[i].data != user_[i].data) transfer(ctx, own_[i], user_[i], how);
  }
  /// Pointers to member b of each.
  std::array<void*, most_operands> member(int b) const {
    std::array<void*, most_operands> data{};
    for (std::size_t i = 0; i < n_; ++i)
      if (own_[i].data) {
        const std::size_t entry = own_[i].type.entries() > 0 ? own_[i].type.bytes() / own_[i].type.entries() : 0;
        const auto offset = static_cast<std::size_t>(b) * static_cast<std::size_t>(own_[i].batch_stride) * entry;
        data[i] = static_cast<char*>(own_[i].data) + offset;
      }
    return data;
  }

 private:
  std::size_t n_;
  std::array<Operand, most_operands> user_{}, own_{};
};

template <class Exec>
struct Custom final : Operation<Exec> {
  CustomRules<Exec> rules;
  explicit Custom(CustomRules<Exec> r) : rules(std::move(r)) {}
  const char* name() const override { return "custom"; }
  Reads jvp_reads(unsigned, unsigned) const override { return {~0U, 1}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {~0U, 1}; }
  bool has_second() const override { return false; }
  void value(const Call<Exec>& c) const override {
    Scope scope(c.ctx);
    PackedOperands<Exec> x(c.ctx, c.ins, c.inputs), y(c.ctx, c.outs, 1);
    x.load(c.ctx);
    for (int b = 0; b < c.outs[0].type.count; ++b)
      rules.value(c.exec, x.member(b).data(), y.member(b)[0], nullptr, nullptr);
    y.store(c.ctx, 0, Store::overwrite);
  }
  void jvp(const Call<Exec>& c) const override {
    Scope scope(c.ctx);
    PackedOperands<Exec> x(c.ctx, c.ins, c.inputs), y(c.ctx, c.outs, 1), dx(c.ctx, c.dins, c.inputs),
        dy(c.ctx, c.douts, 1);
    x.load(c.ctx);
    y.load(c.ctx);
    dx.load(c.ctx);
    for (int b = 0; b < c.outs[0].type.count; ++b)
      rules.jvp(c.exec, x.member(b).data(), y.member(b)[0], dx.member(b).data(), dy.member(b)[0]);
    dy.store(c.ctx, 0, Store::overwrite);
  }
  void vjp(const Call<Exec>& c) const override {
    Scope scope(c.ctx);
    PackedOperands<Exec> x(c.ctx, c.ins, c.inputs), y(c.ctx, c.outs, 1), gx(c.ctx, c.gins, c.inputs),
        gy(c.ctx, c.gouts, 1);
    x.load(c.ctx);
    y.load(c.ctx);
    gy.load(c.ctx);
    if (!c.gouts[0].data) gy.zero(c.ctx);  // an absent cotangent
    for (std::size_t i = 0; i < c.inputs; ++i)
      if (c.store(static_cast<int>(i)) == Store::accumulate) gx.separate(c.ctx, i);
    for (int b = 0; b < c.outs[0].type.count; ++b)
      rules.vjp(c.exec, x.member(b).data(), y.member(b)[0], gx.member(b).data(), gy.member(b)[0]);
    for (std::size_t i = 0; i < c.inputs; ++i) gx.store(c.ctx, i, c.store(static_cast<int>(i)));
  }
  void hvp(const Call<Exec>&) const override {}  // never planned: has_second() is false
};

}  // namespace

template <class Exec>
OperationPtr<Exec> custom_operation(CustomRules<Exec> rules) {
  return std::make_shared<const Custom<Exec>>(std::move(rules));
}

#define FRECHET_CUSTOM(EXEC) template OperationPtr<EXEC> custom_operation<EXEC>(CustomRules<EXEC>);
FRECHET_FOR_EACH_EXEC(FRECHET_CUSTOM)

}  // namespace frechet::detail
