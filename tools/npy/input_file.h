// What readers of files share: errors of one line, and a descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <expected>
#include <string>
#include <string_view>

namespace upsweep::npy {

// "NAME: what", on one line.
std::unexpected<std::string> file_error(std::string_view name, std::string_view what);

// The same with the system's message for an errno.
std::unexpected<std::string> system_error(std::string_view name, std::string_view what, int number);

// Text of a file, fit for a message: at most 60 characters, all printable.
std::string excerpt(std::string_view text);

// Closes the descriptor if there is one.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace upsweep::npy
