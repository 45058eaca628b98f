import Foundation

/// How to open a client.
public struct SignetOptions: Sendable {
  /// Where the keys that seal the client's data are. No choice takes the place of another one.
  public enum Keys: Sendable {
    /// In the Keychain: on this device only, and not synchronized.
    ///
    /// - Parameters:
    ///   - afterFirstUnlock: True for an app that works while the device is locked, such as for a push. Otherwise the keys are
    ///     readable only while the device is unlocked.
    ///   - accessGroup: The group whose apps share the keys; nil for the app's own. The app's entitlements name it.
    case keychain(afterFirstUnlock: Bool = false, accessGroup: String? = nil)
    /// In a file of the data folder, under a passphrase (Argon2id with 64 MiB and three passes). Not empty; its first use with
    /// a folder determines it.
    case passphrase([UInt8])
  }

  /// The app and its auth service.
  public var identity: Signet_Client_V1_IdentityOptions
  /// The folder of the client's data. Its parent must exist.
  public var dataFolder: URL
  /// Where the keys are.
  public var keys: Keys
  /// A file of PEM certificates to trust in place of the system's.
  public var trustAnchors: URL?
  /// Bound of the core's memory in MiB: 4 to 512.
  public var memoryLimit: UInt32 = 256
  /// The platform in the user's list of devices: characters of `[a-z0-9._:/-]`.
  public var platform: String
  /// How many events may wait for one reader.
  public var eventCapacity = 1024

  /// Begins to configure a client.
  public init(identity: Signet_Client_V1_IdentityOptions, dataFolder: URL, keys: Keys = .keychain()) {
    self.identity = identity
    self.dataFolder = dataFolder
    self.keys = keys
    #if os(iOS)
      platform = "ios"
    #else
      platform = "macos"
    #endif
  }

  func message() -> Signet_Host_V1_NativeOptions {
    var options = Signet_Host_V1_NativeOptions()
    options.identity = identity
    options.dataFolder = dataFolder.path
    options.trustAnchors = trustAnchors?.path ?? ""
    options.memoryLimitMib = memoryLimit
    options.platform = platform
    switch keys {
    case let .keychain(afterFirstUnlock, accessGroup):
      options.keychain.afterFirstUnlock = afterFirstUnlock
      options.keychain.accessGroup = accessGroup ?? ""
    case let .passphrase(passphrase):
      options.passphrase.passphrase = Data(passphrase)
    }
    return options
  }
}
