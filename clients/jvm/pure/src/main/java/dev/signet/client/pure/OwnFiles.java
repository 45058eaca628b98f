package dev.signet.client.pure;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;

/** Folders and files that only their owner can read, where the file system knows such permissions. */
final class OwnFiles {
  private static final boolean IS_POSIX = FileSystems.getDefault().supportedFileAttributeViews().contains("posix");

  private OwnFiles() {}

  static FileAttribute<?>[] only(String permissions) {
    if (!IS_POSIX) return new FileAttribute<?>[0];
    return new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))};
  }

  static void createFolder(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) Files.createDirectory(folder, only("rwx------"));
  }

  static void createFile(Path file) throws IOException {
    try {
      Files.createFile(file, only("rw-------"));
    } catch (FileAlreadyExistsException exists) {
      // Of an earlier client, or of another process.
    }
  }
}
