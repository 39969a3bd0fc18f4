// A file that appears under its name only once it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace upsweep::npy {

// `text` with control characters replaced, so that a message that names a file stays one line.
std::string one_line(std::string_view text);

// The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for.
std::optional<int> descriptor_named_by(std::string_view path);

// Collects bytes in a temporary file beside the destination and moves it into place on commit().
//
// - A destination that is no regular file (/dev/null, a pipe, ...) or that names an open descriptor
//   (/dev/stdout, /dev/fd/3, ...) is written directly.
// - A symbolic link is followed: the file it points to is replaced, the link stays.
// - A new file gets mode 0666 less the umask. A replaced file keeps its mode and, where permitted,
//   its owner; hard links to it, ACLs and extended attributes are not carried over.
// - Without commit() the destination is left as it was and the temporary file goes away.
//
// On signals: where the file system has O_TMPFILE the temporary file has no name, so the kernel
// discards it however the process ends. Only replacing an existing file needs a name, between the
// linkat and the rename, with this thread's signals blocked. Elsewhere the file is named
// .upsweep-*.tmp and is removed by the destructor, which a fatal signal skips: the destination is
// still untouched, but the temporary file stays.
//
// Not for use by several threads at once.
class OutputFile {
 public:
  // How to hold the bytes before commit(); `named` is there to test the fallback.
  enum class Staging : std::uint8_t { unnamed_if_possible, named };

  // Opens the temporary file (or the destination itself, see above). Fails when the destination is
  // a directory or not writable, or its directory is missing or not writable. Errors here and below
  // are one line that starts with `path`.
  static std::expected<OutputFile, std::string> create(std::string path,
                                                       Staging staging = Staging::unnamed_if_possible);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  // Appends all of `bytes`. After a failure (disk full, ...) every later write and commit fails.
  std::expected<void, std::string> write(std::span<const std::byte> bytes);

  // Flushes to the disk and moves the file to its name; the file is closed whatever the outcome.
  std::expected<void, std::string> commit();

  const std::string& path() const { return path_; }

  // The temporary file's path; empty when it has no name or the destination is written directly.
  const std::string& temporary_path() const { return temporary_; }

  // Whether write() reaches the destination at once, so that nothing can be taken back.
  bool is_direct() const { return kind_ == Kind::direct; }

 private:
  enum class Kind : std::uint8_t { direct, unnamed, named };

  OutputFile() = default;
  std::unexpected<std::string> fail(std::string_view what, int error);
  std::expected<void, std::string> publish();
  void discard() noexcept;

  std::string path_;    // as the caller gave it, for messages
  std::string target_;  // after symbolic links
  std::string temporary_;
  int descriptor_ = -1;
  Kind kind_ = Kind::direct;
  bool failed_ = false;
};

}  // namespace upsweep::npy
