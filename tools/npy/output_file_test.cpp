#include "output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using upsweep::npy::OutputFile;
using Staging = OutputFile::Staging;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class OutputFileTest : public testing::TestWithParam<Staging> {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/output_file_test.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }

  std::string content(std::string_view name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void put(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      result.push_back(entry.path().filename().string());
    }
    std::ranges::sort(result);
    return result;
  }

  mode_t mode(std::string_view name) const {
    struct stat info{};
    EXPECT_EQ(stat(path(name).c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  // Writes `text` in one go; the error, or "".
  std::string save(const std::string& where, std::string_view text) const {
    auto file = OutputFile::create(where, GetParam());
    if (!file) return file.error();
    if (const auto ok = file->write(bytes_of(text)); !ok) return ok.error();
    if (const auto ok = file->commit(); !ok) return ok.error();
    return "";
  }

  fs::path folder_;
};

using Names = std::vector<std::string>;

INSTANTIATE_TEST_SUITE_P(Staging, OutputFileTest, testing::Values(Staging::unnamed_if_possible, Staging::named),
                         [](const auto& test) { return test.param == Staging::named ? "Named" : "UnnamedIfPossible"; });

TEST_P(OutputFileTest, ShowsANewFileOnlyAfterCommit) {
  auto file = OutputFile::create(path("a"), GetParam());
  ASSERT_TRUE(file) << file.error();
  ASSERT_TRUE(file->write(bytes_of("one ")));
  ASSERT_TRUE(file->write(bytes_of("two")));
  EXPECT_FALSE(fs::exists(path("a")));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content("a"), "one two");
  EXPECT_EQ(names(), Names{"a"});
}

TEST_P(OutputFileTest, LeavesTheOldFileAloneUntilCommit) {
  put("a", "old");
  auto file = OutputFile::create(path("a"), GetParam());
  ASSERT_TRUE(file) << file.error();
  ASSERT_TRUE(file->write(bytes_of("new")));
  EXPECT_EQ(content("a"), "old");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(names(), Names{"a"});
}

TEST_P(OutputFileTest, LeavesNothingWhenDestroyedBeforeCommit) {
  put("b", "old");
  for (const char* const name : {"a", "b"}) {
    auto file = OutputFile::create(path(name), GetParam());
    ASSERT_TRUE(file) << file.error();
    ASSERT_TRUE(file->write(bytes_of("new")));
    OutputFile moved = std::move(*file);
    ASSERT_TRUE(moved.write(bytes_of("newer")));
  }
  EXPECT_EQ(names(), Names{"b"});
  EXPECT_EQ(content("b"), "old");
}

TEST_P(OutputFileTest, LeavesNothingWhenAnotherFileIsAssignedToIt) {
  auto first = OutputFile::create(path("a"), GetParam());
  auto second = OutputFile::create(path("b"), GetParam());
  ASSERT_TRUE(first && second);
  *first = std::move(*second);
  ASSERT_TRUE(first->write(bytes_of("b")));
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(names(), Names{"b"});
}

TEST_P(OutputFileTest, TwoWritersOfOneNameDoNotMixAndTheLastCommitWins) {
  auto first = OutputFile::create(path("a"), GetParam());
  auto second = OutputFile::create(path("a"), GetParam());
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->write(bytes_of("first")));
  ASSERT_TRUE(second->write(bytes_of("second")));
  ASSERT_TRUE(second->commit());
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(content("a"), "first");
  EXPECT_EQ(names(), Names{"a"});
}

TEST_P(OutputFileTest, RefusesToWriteOrCommitAfterCommit) {
  auto file = OutputFile::create(path("a"), GetParam());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit());
  EXPECT_FALSE(file->write(bytes_of("x")));
  EXPECT_FALSE(file->commit());
  EXPECT_EQ(content("a"), "");
}

TEST_P(OutputFileTest, GivesANewFileTheModeOfTheUmask) {
  const mode_t previous = umask(027);
  EXPECT_EQ(save(path("a"), "x"), "");
  umask(previous);
  EXPECT_EQ(mode("a"), 0640U);
}

TEST_P(OutputFileTest, KeepsTheModeOfAReplacedFile) {
  put("a", "old");
  ASSERT_EQ(chmod(path("a").c_str(), 0751), 0);
  EXPECT_EQ(save(path("a"), "new"), "");
  EXPECT_EQ(mode("a"), 0751U);
  EXPECT_EQ(content("a"), "new");
}

TEST_P(OutputFileTest, RefusesAReadOnlyFile) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write read-only files";
  put("a", "old");
  ASSERT_EQ(chmod(path("a").c_str(), 0444), 0);
  EXPECT_EQ(save(path("a"), "new"), path("a") + ": cannot open for writing: Permission denied");
  EXPECT_EQ(content("a"), "old");
}

TEST_P(OutputFileTest, ReplacesWhatASymbolicLinkPointsTo) {
  put("real", "old");
  fs::create_directory(folder_ / "sub");
  fs::create_symlink("../real", folder_ / "sub" / "second");
  fs::create_symlink(folder_ / "sub" / "second", folder_ / "link");
  EXPECT_EQ(save(path("link"), "new"), "");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content("real"), "new");
  EXPECT_EQ(names(), (Names{"link", "real", "sub"}));
}

TEST_P(OutputFileTest, CreatesTheFileThatADanglingLinkPointsTo) {
  fs::create_symlink("real", folder_ / "link");
  EXPECT_EQ(save(path("link"), "new"), "");
  EXPECT_EQ(content("real"), "new");
  EXPECT_EQ(names(), (Names{"link", "real"}));
}

TEST_P(OutputFileTest, RefusesALoopOfLinks) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_EQ(save(path("a"), "x"), path("a") + ": cannot create: Too many levels of symbolic links");
}

TEST_P(OutputFileTest, RefusesADirectoryAMissingDirectoryAndAnEmptyName) {
  EXPECT_EQ(save(folder_.string(), "x"), folder_.string() + ": cannot write: Is a directory");
  EXPECT_EQ(save(path("new/"), "x"), path("new/") + ": cannot create: Is a directory");
  EXPECT_EQ(save(path("no/a"), "x"),
            path("no/a") + ": cannot create a temporary file in '" + path("no") + "': No such file or directory");
  EXPECT_EQ(save("", "x"), "the output file has an empty name");
  put("a", "");
  EXPECT_EQ(save(path("a/b"), "x"), path("a/b") + ": cannot create: Not a directory");
}

TEST_P(OutputFileTest, KeepsAMessageOnOneLine) {
  const std::string error = save(path("no/a\nb"), "x");
  EXPECT_NE(error.find("a?b"), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST_P(OutputFileTest, WritesASpecialFileDirectly) {
  auto file = OutputFile::create("/dev/null", GetParam());
  ASSERT_TRUE(file) << file.error();
  EXPECT_TRUE(file->is_direct());
  EXPECT_TRUE(file->write(bytes_of("x")));
  EXPECT_TRUE(file->commit());
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
}

TEST_P(OutputFileTest, WritesAnOpenPipeDirectly) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  EXPECT_EQ(save("/dev/fd/" + std::to_string(ends[1]), "text"), "");
  // Another process's descriptors are links whose text is no path.
  EXPECT_EQ(save("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(ends[1]), "more"), "");
  std::array<char, 16> text{};
  EXPECT_EQ(read(ends[0], text.data(), text.size()), 8);
  EXPECT_EQ(std::string_view(text.data()), "textmore");
  close(ends[0]);
  close(ends[1]);
}

TEST_P(OutputFileTest, ContinuesARedirectedFileAtItsOffset) {
  const int descriptor = open(path("log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0666);
  ASSERT_GE(descriptor, 0);
  put("log", "before ");
  EXPECT_EQ(save("/proc/self/fd/" + std::to_string(descriptor), "after"), "");
  EXPECT_EQ(content("log"), "before after");
  fs::create_symlink("/dev/fd/" + std::to_string(descriptor), folder_ / "link");
  EXPECT_EQ(save(path("link"), " end"), "");
  EXPECT_EQ(content("log"), "before after end");
  close(descriptor);
  EXPECT_EQ(save("/dev/fd/" + std::to_string(descriptor), "x"),
            "/dev/fd/" + std::to_string(descriptor) + ": cannot open for writing: Bad file descriptor");
}

TEST_P(OutputFileTest, ReportsAFullDeviceAndStaysFailed) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  auto file = OutputFile::create("/dev/full", GetParam());
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(file->write(bytes_of("x")).error(), "/dev/full: cannot write: No space left on device");
  EXPECT_FALSE(file->write(bytes_of("x")));
  EXPECT_FALSE(file->commit());
}

// Runs `body` in a child process and gives its wait status.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST_P(OutputFileTest, LeavesNothingWhenAWriteFailsHalfWay) {
  put("a", "old");
  const int status = status_of_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    auto file = OutputFile::create(path("a"), GetParam());
    if (!file) _exit(2);
    const std::string text(200, 'x');
    const auto ok = file->write(bytes_of(text));
    if (ok || ok.error() != path("a") + ": cannot write: File too large") _exit(3);
    if (file->commit()) _exit(4);
    if (!file->temporary_path().empty()) _exit(5);
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(names(), Names{"a"});
  EXPECT_EQ(content("a"), "old");
}

TEST_P(OutputFileTest, LeavesTheDestinationAloneWhenKilledBySignals) {
  put("a", "old");
  for (const int number : {SIGINT, SIGTERM, SIGKILL}) {
    const int status = status_of_child([&] {
      auto file = OutputFile::create(path("a"), GetParam());
      if (!file || !file->write(bytes_of("new"))) _exit(1);
      if (!file->temporary_path().empty()) _exit(2);  // no O_TMPFILE: a name would stay
      raise(number);
    });
    EXPECT_EQ(content("a"), "old");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
      if (GetParam() == Staging::named) {
        fs::remove_all(folder_);
        return;
      }
      GTEST_SKIP() << "this file system has no O_TMPFILE";
    }
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(names(), Names{"a"});
  }
}

}  // namespace
