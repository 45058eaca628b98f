#include "guard.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "wire.h"

namespace signet {

namespace {

// A listed origin, or a path below it. Another spelling of the same origin is refused: parsers of URLs differ.
bool is_of(const std::string &origin, const std::string &url) {
  if (origin.empty() || url.compare(0, origin.size(), origin) != 0) return false;
  return url.size() == origin.size() || url[origin.size()] == '/';
}

// True for an absolute path outside of the folder, after links are resolved.
bool is_outside(const std::string &folder, const std::string &path) {
  namespace fs = std::filesystem;
  // libsignet reads a path up to a zero byte.
  if (path.find('\0') != path.npos || !fs::path(path).is_absolute()) return false;
  std::error_code error;
  const auto real_folder = fs::weakly_canonical(folder, error);
  if (error) return false;
  const auto real_path = fs::weakly_canonical(path, error);
  if (error) return false;
  return std::mismatch(real_folder.begin(), real_folder.end(), real_path.begin(), real_path.end()).first != real_folder.end();
}

// The field of the request's path; zero for a method without one.
uint32_t path_field_of(std::string_view method) {
  constexpr std::pair<std::string_view, uint32_t> fields[] = {
      {"MessengerService/SendAttachment", 2},   {"MessengerService/SaveAttachment", 3},
      {"BackupService/ExportBackup", 1},        {"BackupService/ReadBackup", 1},
      {"BackupService/RestoreBackup", 1},       {"BackupService/ReadStoredBackup", 2},
  };
  for (const auto &[name, field] : fields) {
    if (name == method) return field;
  }
  return 0;
}

}  // namespace

bool are_allowed(const std::vector<std::string> &origins, const uint8_t *message, size_t length,
                 std::initializer_list<uint32_t> fields) {
  for (const auto field : fields) {
    const auto urls = texts_in(message, length, field);
    if (!urls) return false;
    for (const auto &url : *urls) {
      if (std::none_of(origins.begin(), origins.end(), [&](const auto &one) { return is_of(one, url); })) return false;
    }
  }
  return true;
}

std::string refusal_of(Platform &platform, std::string_view method, const uint8_t *request, size_t length) {
  const bool has_url = method == "MessengerService/Open" || method == "PeekService/Peek";
  if (has_url && !are_allowed(platform.origins(), request, length, {1})) {
    return "base_url must be of an origin that the app's native code lists";
  }
  const auto path = path_field_of(method);
  if (path == 0) return "";
  const auto paths = texts_in(request, length, path);
  const auto folder = platform.folder();
  const bool are_outside =
      paths && !paths->empty() && std::all_of(paths->begin(), paths->end(), [&](const auto &one) { return is_outside(folder, one); });
  return are_outside ? "" : "path must be absolute, and outside of the folder of the client's data";
}

}  // namespace signet
