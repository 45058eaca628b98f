import Foundation

/// Prepares the folder of a client's data.
enum DataFolder {
  /// Creates the folder, protects its files, and leaves it out of backups: keys of this device only cannot open a copy.
  ///
  /// On iOS the files are unreadable until the user has unlocked the device once since it started. A stricter class would
  /// break the open database when the device locks.
  static func prepare(_ folder: URL) throws {
    var folder = folder
    var attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
    #if os(iOS)
      attributes[.protectionKey] = FileProtectionType.completeUntilFirstUserAuthentication
    #endif
    let files = FileManager.default
    if !files.fileExists(atPath: folder.path) {
      try files.createDirectory(at: folder, withIntermediateDirectories: false, attributes: attributes)
    }
    #if os(iOS)
      // New files have the class of their folder. Files of an earlier version may have another one.
      let present = try files.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      for file in present + [folder] {
        try files.setAttributes(
          [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: file.path)
      }
    #endif
    var values = URLResourceValues()
    values.isExcludedFromBackup = true
    try folder.setResourceValues(values)
  }
}
