// SPDX-License-Identifier: Apache-2.0
#include "plan/wgsl_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/embedded.h"

namespace upsweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(std::string_view text) {
  const auto read = read_wgsl_interface(text);
  return read ? "accepted" : read.error().message;
}

TEST(WgslReader, FindsBindingsInTheOrderOfTheirNumbers) {
  const auto read = read_wgsl_interface(
      "@group(0) @binding(5) var<storage, read_write> output: array<u32>;\n"
      "  @group(0) @binding(1) var<storage, read> input: array<vec4<f32>>;\r\n"
      "@group(0) @binding(0) var<uniform> params: P;\n"
      "struct P {\n  count: u32,\n}\n");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->bindings.size(), 3u);
  EXPECT_EQ(read->bindings[0].name, "params");
  EXPECT_EQ(read->bindings[0].kind, BindingKind::uniform);
  EXPECT_EQ(read->bindings[1].name, "input");
  EXPECT_EQ(read->bindings[1].index, 1u);
  EXPECT_EQ(read->bindings[1].kind, BindingKind::storage_read);
  EXPECT_EQ(read->bindings[2].name, "output");
  EXPECT_EQ(read->bindings[2].index, 5u);
  EXPECT_EQ(read->bindings[2].kind, BindingKind::storage_read_write);
  EXPECT_THAT(read->params, ElementsAre("count"));
}

TEST(WgslReader, ReadsFieldsBetweenCommentsAndBlankLines) {
  const auto read = read_wgsl_interface(
      "struct P {  // of the pass\n"
      "  // how many: not a field\n"
      "  item_count: u32,  // items\n"
      "\n"
      "  shift : i32 ,\n"
      "  scale: f32\n"
      "}\n"
      "@group(0) @binding(0) var<uniform> params: P;\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->params, ElementsAre("item_count", "shift", "scale"));
}

TEST(WgslReader, IgnoresBindingsInComments) {
  const auto read = read_wgsl_interface(
      "// @group(0) @binding(0) var<storage, read> a: array<u32>;\n"
      "fn f() {}  // see @group(0) @binding(1)\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->bindings.empty());
}

TEST(WgslReader, RefusesLinesThatItWouldMisread) {
  const std::string_view malformed[] = {
      "@group(0) @binding(x) var<storage, read> a: array<u32>;",
      "@group(0) @binding(1 ) var<storage, read> a: array<u32>;",
      "@group(0) @binding(1) var<storage> a: array<u32>;",
      "@group(0) @binding(1) var<storage,read> a: array<u32>;",
      "@group(0) @binding(1) var<storage, write> a: array<u32>;",
      "@group(0) @binding(1) var<storage, read> a;",
      "@group(0) @binding(1) var<storage, read> a: array<u32>",
      "@group(0) @binding(1) var<storage, read> a: array<u32>;  // comment",
      "@group(0) @binding(1) var t: texture_2d<f32>;",
      "@group(0) @binding(32) var<storage, read> a: array<u32>;",
      "@group(0) @binding(4294967296) var<storage, read> a: array<u32>;",
      "@group(1) @binding(0) var<storage, read> a: array<u32>;",
      "@binding(0) @group(0) var<storage, read> a: array<u32>;",
      "@group(0)  @binding(0) var<storage, read> a: array<u32>;",
      "const a = 1; @group(0) @binding(0) var<storage, read> b: array<u32>;",
  };
  for (const std::string_view line : malformed) {
    EXPECT_THAT(error_of(line), HasSubstr(std::string("\"") + std::string(line) + "\"")) << line;
  }
}

TEST(WgslReader, RefusesTwoBindingsOfOneNumberOrName) {
  const std::string one = "@group(0) @binding(1) var<storage, read> a: array<u32>;\n";
  EXPECT_THAT(error_of(one + "@group(0) @binding(1) var<storage, read> b: array<u32>;\n"), HasSubstr("declared twice"));
  EXPECT_THAT(error_of(one + "@group(0) @binding(2) var<storage, read> a: array<u32>;\n"), HasSubstr("declared twice"));
}

TEST(WgslReader, RefusesParamsThatItCannotLayOut) {
  const std::string binding = "@group(0) @binding(0) var<uniform> params: P;\n";
  EXPECT_THAT(error_of(binding), HasSubstr("declares no struct P"));
  EXPECT_THAT(error_of(binding + "struct P {\n  a: u32,\n"), HasSubstr("has no end"));
  for (const std::string_view field : {"a: vec2u,", "a: u32, b: u32,", "a: f16,", "@size(16) a: vec4f,", "a,"}) {
    EXPECT_THAT(error_of(binding + "struct P {\n  " + std::string(field) + "\n}\n"),
                HasSubstr("may hold u32, i32 and f32 only"))
        << field;
  }
}

TEST(WgslReader, ReadsEveryEmbeddedFile) {
  ASSERT_FALSE(embedded_files().empty());
  for (const EmbeddedFile& file : embedded_files()) {
    const auto read = read_wgsl_interface(file.text);
    EXPECT_TRUE(read) << file.path << ": " << (read ? "" : read.error().message);
  }
}

TEST(WgslReader, SharedAccessChangesOneBindingAndNothingElse) {
  const std::string text =
      "@group(0) @binding(1) var<storage, read> a: array<u32>;\n"
      "@group(0) @binding(11) var<storage, read> b: array<u32>;\n"
      "@group(0) @binding(2) var<storage, read_write> c: array<u32>;\n"
      "// var<storage, read> of a comment\n";
  const std::string expected =
      "@group(0) @binding(1) var<storage, read_write> a: array<u32>;\n"
      "@group(0) @binding(11) var<storage, read> b: array<u32>;\n"
      "@group(0) @binding(2) var<storage, read_write> c: array<u32>;\n"
      "// var<storage, read> of a comment\n";
  EXPECT_EQ(with_shared_access(text, 1), expected);
  EXPECT_EQ(with_shared_access(text, 2), text);
  EXPECT_EQ(with_shared_access(text, 3), text);
}

}  // namespace
}  // namespace upsweep
