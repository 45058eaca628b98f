#ifdef _WIN32

#include "os.h"
#include "wide.h"

#include <sddl.h>

#include <algorithm>

namespace signet::os {

namespace {

// Milliseconds between 1601, where Windows counts from, and 1970.
constexpr uint64_t kEpochMs = 11644473600000;

Failure refusal() {
  switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return Failure(Fault::kFileState, "the file does not exist");
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return Failure(Fault::kFileState, "the file exists");
    default: return Failure(Fault::kIo, "the file cannot be used");
  }
}

void check(BOOL done) {
  if (!done) throw refusal();
}

HANDLE of(intptr_t handle) { return reinterpret_cast<HANDLE>(handle); }

OVERLAPPED at(uint64_t offset) {
  OVERLAPPED where{};
  where.Offset = static_cast<DWORD>(offset);
  where.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return where;
}

constexpr DWORD kMostBytes = 1u << 30;

// An access list: this user and the system, for a new file or folder and what is created in it.
class OwnersOnly {
 public:
  OwnersOnly() {
    HANDLE token = nullptr;
    check(OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token));
    alignas(TOKEN_USER) uint8_t bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    DWORD length = 0;
    const BOOL found = GetTokenInformation(token, TokenUser, bytes, sizeof bytes, &length);
    CloseHandle(token);
    check(found);
    wchar_t *sid = nullptr;
    check(ConvertSidToStringSidW(reinterpret_cast<const TOKEN_USER *>(bytes)->User.Sid, &sid));
    const std::wstring list = std::wstring(L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;") + sid + L")";
    LocalFree(sid);
    check(ConvertStringSecurityDescriptorToSecurityDescriptorW(list.c_str(), SDDL_REVISION_1,
                                                              &attributes_.lpSecurityDescriptor, nullptr));
    attributes_.nLength = sizeof attributes_;
  }
  OwnersOnly(const OwnersOnly &) = delete;
  ~OwnersOnly() { LocalFree(attributes_.lpSecurityDescriptor); }
  SECURITY_ATTRIBUTES *get() { return &attributes_; }

 private:
  SECURITY_ATTRIBUTES attributes_{};
};

intptr_t open(const std::string &path, File::Use use) {
  const Wide name = wide(View(path));
  OwnersOnly owners;
  DWORD access = GENERIC_WRITE, creation = OPEN_EXISTING;
  switch (use) {
    case File::Use::kRead: access = GENERIC_READ; break;
    case File::Use::kCreate: creation = CREATE_NEW; break;
    case File::Use::kWrite: break;
    case File::Use::kShare: access |= GENERIC_READ, creation = OPEN_ALWAYS; break;
  }
  const DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  HANDLE handle = CreateFileW(name.data(), access, shared, owners.get(), creation, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE) throw refusal();
  return reinterpret_cast<intptr_t>(handle);
}

}  // namespace

File::File(const std::string &path, Use use) : handle_(open(path, use)) {}

File::~File() { CloseHandle(of(handle_)); }

size_t File::read(uint64_t offset, uint8_t *into, size_t length) const {
  size_t done = 0;
  while (done < length) {
    OVERLAPPED where = at(offset + done);
    DWORD count = 0;
    const DWORD wanted = static_cast<DWORD>(std::min<size_t>(length - done, kMostBytes));
    if (!ReadFile(of(handle_), into + done, wanted, &count, &where) && GetLastError() != ERROR_HANDLE_EOF) throw refusal();
    if (count == 0) break;
    done += count;
  }
  return done;
}

void File::write(uint64_t offset, View bytes) const {
  for (size_t done = 0; done < bytes.size;) {
    OVERLAPPED where = at(offset + done);
    DWORD count = 0;
    const DWORD wanted = static_cast<DWORD>(std::min<size_t>(bytes.size - done, kMostBytes));
    check(WriteFile(of(handle_), bytes.data + done, wanted, &count, &where) && count > 0);
    done += count;
  }
}

uint64_t File::size() const {
  LARGE_INTEGER size{};
  check(GetFileSizeEx(of(handle_), &size));
  return static_cast<uint64_t>(size.QuadPart);
}

void File::sync() const { check(FlushFileBuffers(of(handle_))); }

bool File::try_lock() const {
  OVERLAPPED where = at(0);
  return LockFileEx(of(handle_), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &where) != 0;
}

void File::unlock() const {
  OVERLAPPED where = at(0);
  UnlockFileEx(of(handle_), 0, 1, 0, &where);
}

FileInfo file_info(const std::string &path) {
  WIN32_FILE_ATTRIBUTE_DATA found{};
  check(GetFileAttributesExW(wide(View(path)).data(), GetFileExInfoStandard, &found));
  const auto join = [](DWORD high, DWORD low) { return static_cast<uint64_t>(high) << 32 | low; };
  const uint64_t changed = join(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime) / 10000;
  return {join(found.nFileSizeHigh, found.nFileSizeLow), changed - kEpochMs};
}

void make_folder(const std::string &path) {
  OwnersOnly owners;
  if (CreateDirectoryW(wide(View(path)).data(), owners.get()) || GetLastError() == ERROR_ALREADY_EXISTS) return;
  throw Failure(Fault::kIo, "the folder cannot be created");
}

std::string name() { return "windows"; }

}  // namespace signet::os

#endif
