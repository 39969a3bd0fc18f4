#include "output_file.h"

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/stat.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <format>
#include <optional>
#include <system_error>
#include <utility>

namespace upsweep::npy {
namespace {

// Linux refuses one write(2) of 2 GiB or more; macOS reports an error for it.
constexpr std::size_t max_write_bytes = std::size_t{1} << 30;

constexpr int max_links = 40;  // as Linux
constexpr int max_name_attempts = 100;

std::string error_text(int error) { return std::generic_category().message(error); }

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string temporary_name(const std::string& directory) {
  static std::atomic<unsigned> counter{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  // Uniqueness comes from O_EXCL (or linkat); the name only has to make a clash unlikely.
  return std::format("{}/.upsweep-{}-{:x}{:x}-{}.tmp", directory, static_cast<long long>(getpid()),
                     static_cast<long long>(now.tv_sec), static_cast<long long>(now.tv_nsec), counter.fetch_add(1));
}

int open_retrying(const char* path, int flags, mode_t mode = 0) {
  int descriptor = -1;
  do {
    descriptor = open(path, flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// Makes the new directory entry last through a power cut. Best effort: the data is already safe,
// and some file systems cannot sync a directory.
void sync_directory(const std::string& directory) {
  const int descriptor = open_retrying(directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  static_cast<void>(fsync(descriptor));
  close(descriptor);
}

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t previous_{};
};

#ifdef O_TMPFILE
// Giving the file a name goes through /proc, so without it there is no point in starting.
int open_unnamed(const std::string& directory) {
  if (access("/proc/self/fd", X_OK) != 0) return -1;
  return open_retrying(directory.c_str(), O_TMPFILE | O_WRONLY, 0666);
}
#else
int open_unnamed(const std::string&) { return -1; }
#endif

}  // namespace

std::optional<int> descriptor_named_by(std::string_view path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int descriptor = -1;
    const char* const begin = digits.data();
    const char* const end = begin + digits.size();
    const auto [stop, code] = std::from_chars(begin, end, descriptor);
    if (code == std::errc{} && stop == end && descriptor >= 0) return descriptor;
  }
  return std::nullopt;
}

std::string one_line(std::string_view text) {
  std::string result(text);
  std::ranges::replace_if(result, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return result;
}

std::unexpected<std::string> OutputFile::fail(std::string_view what, int error) {
  failed_ = true;
  return std::unexpected(std::format("{}: {}: {}", one_line(path_), what, error_text(error)));
}

std::expected<OutputFile, std::string> OutputFile::create(std::string path, Staging staging) {
  OutputFile file;
  file.path_ = std::move(path);
  if (file.path_.empty()) return std::unexpected(std::string("the output file has an empty name"));
  if (file.path_.find('\0') != std::string::npos) return file.fail("cannot create", EINVAL);

  file.target_ = file.path_;
  bool exists = false;
  struct stat info{};
  for (int links = 0;; ++links) {
    if (const std::optional<int> descriptor = descriptor_named_by(file.target_)) {
      // Duplicated rather than opened: opening would start over at offset 0 of a redirected file, and fails for a
      // socket.
      file.descriptor_ = fcntl(*descriptor, F_DUPFD_CLOEXEC, 0);
      if (file.descriptor_ < 0) return file.fail("cannot open for writing", errno);
      return file;
    }
    exists = lstat(file.target_.c_str(), &info) == 0;
    if (!exists && errno != ENOENT) return file.fail("cannot create", errno);
    if (!exists || !S_ISLNK(info.st_mode)) break;
    if (links == max_links) return file.fail("cannot create", ELOOP);
    std::array<char, PATH_MAX> text;
    const ssize_t length = readlink(file.target_.c_str(), text.data(), text.size());
    if (length < 0) return file.fail("cannot read the symbolic link", errno);
    const std::string link(text.data(), static_cast<std::size_t>(length));
    file.target_ = link.starts_with('/') ? link : directory_of(file.target_) + "/" + link;
  }

  // The links in /proc/PID/fd have texts such as "pipe:[7]" that are no paths: then only the name
  // as given leads to the file.
  if (!exists && stat(file.path_.c_str(), &info) == 0) {
    exists = true;
    file.target_ = file.path_;
  }
  if (exists && S_ISDIR(info.st_mode)) return file.fail("cannot write", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    file.descriptor_ = open_retrying(file.target_.c_str(), O_WRONLY | O_NOCTTY);
    if (file.descriptor_ < 0) return file.fail("cannot open for writing", errno);
    return file;
  }
  if (file.target_.ends_with('/')) return file.fail("cannot create", EISDIR);
  // rename() would replace a file that its owner made read-only; open() would not.
  if (exists && faccessat(AT_FDCWD, file.target_.c_str(), W_OK, AT_EACCESS) != 0) {
    return file.fail("cannot open for writing", errno);
  }

  const std::string directory = directory_of(file.target_);
  if (staging == Staging::unnamed_if_possible) file.descriptor_ = open_unnamed(directory);
  if (file.descriptor_ >= 0) {
    file.kind_ = Kind::unnamed;
  } else {
    for (int attempt = 0; attempt < max_name_attempts && file.descriptor_ < 0; ++attempt) {
      std::string name = temporary_name(directory);
      file.descriptor_ = open_retrying(name.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0666);
      if (file.descriptor_ >= 0) {
        file.temporary_ = std::move(name);
      } else if (errno != EEXIST) {
        break;
      }
    }
    if (file.descriptor_ < 0) {
      return file.fail(std::format("cannot create a temporary file in '{}'", one_line(directory)), errno);
    }
    file.kind_ = Kind::named;
  }

  if (exists) {
    struct stat own{};
    if (fstat(file.descriptor_, &own) != 0) return file.fail("cannot create", errno);
    // Only root may give files away; for others the new file is theirs. The owner goes first, as
    // changing it clears mode bits.
    if (own.st_uid != info.st_uid || own.st_gid != info.st_gid) {
      static_cast<void>(!fchown(file.descriptor_, info.st_uid, info.st_gid));
    }
    if (fchmod(file.descriptor_, info.st_mode & 0777) != 0) {
      return file.fail("cannot set the mode of the new file", errno);
    }
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      target_(std::exchange(other.target_, {})),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      kind_(other.kind_),
      failed_(other.failed_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::exchange(other.path_, {});
    target_ = std::exchange(other.target_, {});
    temporary_ = std::exchange(other.temporary_, {});
    descriptor_ = std::exchange(other.descriptor_, -1);
    kind_ = other.kind_;
    failed_ = other.failed_;
  }
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() noexcept {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

std::expected<void, std::string> OutputFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) return fail("cannot write: the file is closed", EBADF);
  if (failed_) return fail("cannot write after an earlier failure", EIO);
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), max_write_bytes));
    if (written < 0) {
      if (errno == EINTR) continue;
      return fail("cannot write", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

std::expected<void, std::string> OutputFile::commit() {
  if (descriptor_ < 0) return fail("cannot finish: the file is closed", EBADF);
  std::expected<void, std::string> result;
  if (failed_) {
    result = fail("cannot finish after an earlier failure", EIO);
  } else if (kind_ == Kind::direct) {
    // Some file systems report a full disk only now. EINTR means closed, too, on Linux.
    if (close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
      result = fail("cannot finish", errno);
    }
  } else {
    result = publish();
  }
  discard();
  return result;
}

std::expected<void, std::string> OutputFile::publish() {
  // Without this a power cut soon after the rename could leave an empty file under the final name.
  int synced = -1;
  do {
    synced = fsync(descriptor_);
  } while (synced != 0 && errno == EINTR);
  if (synced != 0 && errno != EINVAL) return fail("cannot flush to the disk", errno);

  const std::string directory = directory_of(target_);
  const SignalsBlocked guard;
  if (kind_ == Kind::unnamed) {
    const std::string self = std::format("/proc/self/fd/{}", descriptor_);
    const auto link_as = [&](const std::string& name) {
      return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_as(target_)) {
      sync_directory(directory);
      return {};
    }
    // linkat never replaces a file: take a temporary name and rename.
    for (int attempt = 0; errno == EEXIST && attempt < max_name_attempts; ++attempt) {
      std::string name = temporary_name(directory);
      if (link_as(name)) {
        temporary_ = std::move(name);
        break;
      }
    }
    if (temporary_.empty()) return fail("cannot create", errno);
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return fail("cannot replace", errno);
  temporary_.clear();
  sync_directory(directory);
  return {};
}

}  // namespace upsweep::npy
