#include "methods.h"

#include <algorithm>
#include <array>

namespace signet {

namespace {

constexpr std::array<std::string_view, 72> allowed{
    "IdentityService/Ready",
    "IdentityService/SignInOptions",
    "IdentityService/StartSignIn",
    "IdentityService/Login",
    "IdentityService/LoginWithPassword",
    "IdentityService/SendMagicLink",
    "IdentityService/ConfirmMagicLink",
    "IdentityService/BeginSignIn",
    "IdentityService/FinishSignIn",
    "IdentityService/Logout",
    "IdentityService/LogoutAll",
    "IdentityService/Wake",
    "IdentityService/Fetch",
    "MessengerService/Open",
    "MessengerService/CreateDirectConversation",
    "MessengerService/CreateGroupConversation",
    "MessengerService/EncryptMessage",
    "MessengerService/ProcessIncoming",
    "MessengerService/AddMembers",
    "MessengerService/RemoveMembers",
    "MessengerService/Send",
    "MessengerService/ListOutbox",
    "MessengerService/SendAttachment",
    "MessengerService/SaveAttachment",
    "MessengerService/ReadAttachment",
    "MessengerService/ListUploads",
    "MessengerService/CancelUpload",
    "MessengerService/Leave",
    "MessengerService/Rejoin",
    "MessengerService/RefreshKeys",
    "MessengerService/ListConversations",
    "MessengerService/GetConversation",
    "MessengerService/ListTimeline",
    "MessengerService/BlockUser",
    "MessengerService/UnblockUser",
    "MessengerService/ListBlockedUsers",
    "MessengerService/ListDevices",
    "MessengerService/RevokeDevice",
    "MessengerService/StartAnew",
    "MessengerService/GetVerification",
    "MessengerService/GetVerificationStatus",
    "MessengerService/MarkVerified",
    "MessengerService/GetQrCode",
    "MessengerService/ScanQrCode",
    "MessengerService/GetGroupCode",
    "MessengerService/Sync",
    "MessengerService/Run",
    "MessengerService/Stop",
    "MessengerService/DestroyLocalState",
    "MessengerService/Close",
    // Returns the one key that JavaScript gets: the user writes it down.
    "BackupService/CreateRecoveryKey",
    "BackupService/ExportBackup",
    "BackupService/ReadBackup",
    "BackupService/RestoreBackup",
    "BackupService/StoreBackup",
    "BackupService/StopStoringBackup",
    "BackupService/ListStoredBackups",
    "BackupService/ReadStoredBackup",
    "BackupService/DeleteStoredBackup",
    "HistoryService/RequestHistoryByQr",
    "HistoryService/RequestHistoryByCode",
    "HistoryService/ConfirmHistoryCode",
    "HistoryService/ListHistoryRequests",
    "HistoryService/GrantHistoryByQr",
    "HistoryService/GrantHistoryByCode",
    "HistoryService/RunHistory",
    "HistoryService/StopHistory",
    "HistoryService/CancelHistory",
    "PushEndpointService/GetPushSettings",
    "PushEndpointService/SetPushEndpoint",
    "PushEndpointService/DeletePushEndpoint",
    "PeekService/Peek",
};

}  // namespace

bool is_method(std::string_view name) { return std::find(allowed.begin(), allowed.end(), name) != allowed.end(); }

}  // namespace signet
