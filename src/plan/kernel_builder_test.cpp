// SPDX-License-Identifier: Apache-2.0
#include "plan/kernel_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <format>
#include <fstream>

#include "plan/embedded.h"

namespace upsweep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::shared_ptr<const Kernel> built(KernelBuilder builder) {
  auto kernel = std::move(builder).build();
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message;
    return std::make_shared<const Kernel>();
  }
  return *kernel;
}

TEST(KernelBuilder, PutsDirectivesFirstWhateverTheOrderOfCalls) {
  KernelBuilder builder("k");
  builder.part("thread.wgsl").generated("adapters", "fn one() -> u32 { return 1u; }\n");
  builder.caller_text("operator \"f\"", "fn f() {}");
  builder.constant("SIZE", 4294967295u).alias("Element", "vec2u");
  builder.require("subgroup_id").enable("f16");
  const auto kernel = built(std::move(builder));
  EXPECT_THAT(kernel->text, StartsWith("requires subgroup_id;\n"
                                       "enable f16;\n"
                                       "const SIZE: u32 = 4294967295u;\n"
                                       "alias Element = vec2u;\n"
                                       "fn f() {}\n"));
  EXPECT_LT(kernel->text.find("struct Thread"), kernel->text.find("fn one()"));
}

TEST(KernelBuilder, KnowsWhichFeaturesItsDirectivesNeed) {
  KernelBuilder subgroups("k");
  subgroups.enable("subgroups").workgroup(64, 256);
  const auto kernel = built(std::move(subgroups));
  EXPECT_TRUE(kernel->needs_subgroups);
  EXPECT_FALSE(kernel->needs_f16);
  EXPECT_EQ(kernel->workgroup_size, 64u);
  EXPECT_EQ(kernel->workgroup_bytes, 256u);
  EXPECT_THAT(kernel->text, HasSubstr("const WORKGROUP_SIZE: u32 = 64u;\n"));
  KernelBuilder half("k");
  half.enable("f16");
  EXPECT_TRUE(built(std::move(half))->needs_f16);
}

TEST(KernelBuilder, TakesPartsAndCallersTextsOnce) {
  KernelBuilder builder("k");
  builder.part("thread.wgsl").part("grid.wgsl").part("thread.wgsl");
  builder.caller_text("type \"T\"", "struct T { a: u32 }").caller_text("type \"T\" again", "struct T { a: u32 }");
  const auto kernel = built(std::move(builder));
  const auto count_of = [&](std::string_view word) {
    std::size_t count = 0;
    for (auto at = kernel->text.find(word); at != std::string::npos; at = kernel->text.find(word, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(count_of("struct Thread"), 1u);
  EXPECT_EQ(count_of("fn tile_index"), 1u);
  EXPECT_EQ(count_of("struct T {"), 1u);
}

TEST(KernelBuilder, LeavesOutAnAliasOfATypeToItself) {
  KernelBuilder builder("k");
  builder.alias("MinMax", "MinMax").alias("Value", "MinMax");
  EXPECT_EQ(built(std::move(builder))->text, "alias Value = MinMax;\n");
}

TEST(KernelBuilder, NamesAPartThatDoesNotExist) {
  KernelBuilder builder("scan_tile");
  builder.part("thread.wgsl").part("no_such_part.wgsl");
  const auto kernel = std::move(builder).build();
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind, ErrorKind::internal);
  EXPECT_THAT(kernel.error().message, HasSubstr("scan_tile"));
  EXPECT_THAT(kernel.error().message, HasSubstr("no_such_part.wgsl"));
}

TEST(KernelBuilder, EqualTextsHaveEqualHashesAndOthersDoNot) {
  const auto text_of = [](std::uint32_t value) {
    KernelBuilder builder("k");
    builder.constant("A", value).part("grid.wgsl");
    return built(std::move(builder));
  };
  EXPECT_EQ(text_of(1)->text_hash, text_of(1)->text_hash);
  EXPECT_NE(text_of(1)->text_hash, text_of(2)->text_hash);
}

// Every embedded file in one text, between pieces with and without a newline at their end.
TEST(KernelBuilder, LocatesEveryLineInTheTextThatItCameFrom) {
  const std::string caller = "fn f() {\n}\n\nfn g() {}";
  KernelBuilder builder("k");
  builder.enable("f16").constant("A", 1).alias("B", "u32").caller_text("operator \"f\"", caller);
  builder.generated("adapters", "fn h() {}");
  for (const EmbeddedFile& file : embedded_files()) {
    // One binding number may appear once in a kernel; files with bindings have tests of their own.
    if (!file.text.contains("@binding(")) builder.part(file.name);
  }
  const auto kernel = built(std::move(builder));

  std::vector<std::string> expected{"directives:1", "prelude:1", "prelude:2"};
  std::vector<std::string> expected_text{"enable f16;", "const A: u32 = 1u;", "alias B = u32;"};
  const auto expect = [&](std::string_view origin, std::string_view text) {
    const auto lines = lines_of(text);
    for (std::size_t i = 0; i < lines.size(); ++i) expected.push_back(std::format("{}:{}", origin, i + 1));
    expected_text.insert(expected_text.end(), lines.begin(), lines.end());
  };
  expect("operator \"f\"", caller);
  expect("adapters", "fn h() {}");
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.text.contains("@binding(")) expect(file.name, file.text);
  }
  ASSERT_EQ(lines_of(kernel->text), expected_text);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(kernel->locate(static_cast<std::uint32_t>(i + 1)), expected[i]);
  }
  EXPECT_GT(expected.size(), 100u);
}

TEST(KernelBuilder, ReadsTheBindingsOfItsParts) {
  KernelBuilder builder("probe");
  builder.workgroup(256, 8).part("thread.wgsl").part("entry.plain.wgsl").part("probe_arithmetic.wgsl");
  const auto kernel = built(std::move(builder));
  ASSERT_NE(kernel->find_binding("output"), nullptr);
  EXPECT_EQ(kernel->find_binding("output")->index, 1u);
  EXPECT_EQ(kernel->find_binding("no_such"), nullptr);
  EXPECT_EQ(kernel->params, std::vector<std::string>{"one"});
}

TEST(Kernel, LocatesLinesOfATextWithoutOriginsByNumber) { EXPECT_EQ(Kernel{}.locate(7), "line 7"); }

TEST(EmbeddedFiles, AreSortedAndEqualTheFilesOnDisk) {
  EXPECT_TRUE(std::ranges::is_sorted(embedded_files(), {}, &EmbeddedFile::name));
  EXPECT_FALSE(wgsl_file("no_such.wgsl"));
  EXPECT_FALSE(wgsl_file(""));
#ifndef __EMSCRIPTEN__
  for (const EmbeddedFile& file : embedded_files()) {
    std::ifstream stream(std::format("{}/src/{}", UPSWEEP_SOURCE_DIR, file.path), std::ios::binary);
    ASSERT_TRUE(stream) << file.path;
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), file.text) << file.path;
    EXPECT_EQ(wgsl_file(file.name), std::string(file.text));
  }
#endif
}

#ifndef __EMSCRIPTEN__
TEST(EmbeddedFiles, AreReadFromTheFolderOfUpsweepWgslDir) {
  const auto folder = std::filesystem::temp_directory_path() / "upsweep_wgsl_dir_test";
  std::filesystem::create_directories(folder / "wgsl");
  std::ofstream(folder / "wgsl" / "grid.wgsl") << "fn changed() {}\n";
  ASSERT_EQ(setenv("UPSWEEP_WGSL_DIR", folder.c_str(), 1), 0);
  KernelBuilder builder("k");
  builder.part("grid.wgsl").part("thread.wgsl");  // the second is not in the folder: the embedded text stands in
  const auto kernel = std::move(builder).build();
  unsetenv("UPSWEEP_WGSL_DIR");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_THAT((*kernel)->text, StartsWith("fn changed() {}\n"));
  EXPECT_THAT((*kernel)->text, HasSubstr("struct Thread"));
}
#endif

TEST(KernelBuilder, BracketsOfACallersTextMatch) {
  const auto message = [](std::string_view text) {
    KernelBuilder builder("test");
    builder.caller_text("operator \"f\"", text);
    builder.generated("body", "fn run(workgroup: Workgroup, thread: Thread) {}\n");
    const auto kernel = std::move(builder).build();
    return kernel ? std::string("ok") : kernel.error().message;
  };
  for (const std::string_view open : {"fn f() {\n  let a = (1 + 2;\n}\n", "fn f() {\n  let a = 1;\n", "fn f() {\n}}\n",
                                      "// {\nfn f() { /* } /* } */ } */"}) {
    SCOPED_TRACE(open);
    EXPECT_THAT(message(open), HasSubstr("operator \"f\":"));
    EXPECT_THAT(message(open), HasSubstr("brackets are opened and not closed, or the other way round"));
  }
  EXPECT_THAT(message("fn f() {\n  let a = 1;\n\n"), HasSubstr("operator \"f\":2: "));
  EXPECT_THAT(message("fn f() {\n}}\n"), HasSubstr("operator \"f\":2: "));
  EXPECT_THAT(message("fn f() {}\n/* /* */\n"), HasSubstr("operator \"f\":2: a comment is not closed"));
  for (const std::string_view closed :
       {"fn f() { /* ( */ /*{*//*{*/ }  // [", "fn f() { let a = array<u32, 2>(1, 2)[0]; }"}) {
    EXPECT_THAT(message(closed), Not(HasSubstr("brackets"))) << closed;
  }
}

TEST(KernelBuilder, TypesOfACallerAreDeclaredUnderTheirNamesOnce) {
  const auto message = [](std::initializer_list<ElementType> types) {
    KernelBuilder builder("test");
    for (const ElementType& type : types) builder.caller_type(type);
    const auto kernel = std::move(builder).build();
    return kernel ? "ok: " + (*kernel)->text : kernel.error().message;
  };
  const auto pair = *ElementType::structure("Pair", "struct Pair { x: u32, y: u32 }", 8, 8);
  EXPECT_EQ(message({ElementType::u32()}), "ok: ");
  EXPECT_EQ(message({pair, pair}), "ok: struct Pair { x: u32, y: u32 }\n");
  EXPECT_EQ(message({pair, *ElementType::structure("Pair", "struct Pair { x: f32, y: u32 }", 8, 8)}),
            "Two types of one kernel have the name \"Pair\" and different declarations.");
}

TEST(KernelBuilder, ExpressionsOfACallerAreOneExpression) {
  const auto text = [](std::string_view expression) {
    KernelBuilder builder("test");
    builder.caller_expression("predicate expression", "fn item_passes(x: u32) -> bool", expression);
    const auto kernel = std::move(builder).build();
    return kernel ? (*kernel)->text : kernel.error().message;
  };
  EXPECT_EQ(text("x > 5u"), "fn item_passes(x: u32) -> bool { return x > 5u; }\n");
  EXPECT_EQ(text("x > 5u // {large};"), "fn item_passes(x: u32) -> bool { return x > 5u // {large};\n; }\n");
  EXPECT_EQ(text("x > /* ; */ 5u"), "fn item_passes(x: u32) -> bool { return x > /* ; */ 5u; }\n");
  for (const std::string_view wrong : {"true; } fn other() -> bool { return false", "x > 5u; return true", "x > 5u;"}) {
    EXPECT_THAT(text(wrong), HasSubstr("The predicate expression has a \";\": it is to be one WGSL expression"));
  }
  EXPECT_THAT(text("true } fn other() { }"), HasSubstr("has a \"}\""));
  EXPECT_THAT(text("(x > 5u"), HasSubstr("predicate expression:1: brackets are opened and not closed"));
  EXPECT_THAT(text("x > 5u)"), HasSubstr("predicate expression:1: brackets are opened and not closed"));
  EXPECT_THAT(text("x > /* 5u"), HasSubstr("predicate expression:1: a comment is not closed"));
}

}  // namespace
}  // namespace upsweep
