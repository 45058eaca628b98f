package dev.signet.client;

import com.google.protobuf.ByteString;
import dev.signet.client.v1.*;
import java.util.HexFormat;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The commands of a {@link Member} for backups, the history of a new device, pushes and previews. */
final class MemberServices {
  private MemberServices() {}

  /** Runs a command. Bytes arrive as {@link Member} has them. */
  static Object run(SignetClient client, String[] words, Function<String, ByteString> bytes) {
    return switch (words[0]) {
      case "recoveryKey" -> client.backup().createRecoveryKey().join().getRecoveryKey();
      case "exportBackup" -> client.backup().exportBackup(
          ExportBackupRequest.newBuilder().setPath(words[1]).setSecret(secretOf(words[2])).build()).join().getSize();
      case "restoreBackup" -> restored(client.backup().restoreBackup(
          RestoreBackupRequest.newBuilder().setPath(words[1]).setSecret(secretOf(words[2])).build()).join());
      case "requestHistory" -> client.history().requestHistoryByQr().join().getQr();
      case "grantHistory" -> client.history().grantHistoryByQr(
          GrantHistoryByQrRequest.newBuilder().setQr(words[1]).build()).join().getSerializedSize();
      case "runHistory" -> client.history().runHistory().join().getSerializedSize();
      case "pushSettings" -> client.pushEndpoint().getPushSettings().join().getKindsList();
      case "setPush" -> client.pushEndpoint().setPushEndpoint(SetPushEndpointRequest.newBuilder()
          .setKind(PushEndpointKind.PUSH_ENDPOINT_KIND_WEB_PUSH).setUrl(words[1]).build())
          .join().getRegistrationId().size();
      case "deletePush" -> client.pushEndpoint().deletePushEndpoint().join().getSerializedSize();
      case "peek" -> shown(client.peek().peek(PeekRequest.newBuilder()
          .setBaseUrl(words[1]).setAudience(words[2]).addIssuerRootKeys(bytes.apply(words[3])).build()).join());
      default -> throw new IllegalArgumentException(words[0]);
    };
  }

  private static BackupSecret secretOf(String recoveryKey) {
    return BackupSecret.newBuilder().setRecoveryKey(recoveryKey).build();
  }

  private static String restored(RestoreBackupResponse response) {
    return response.getSummary().getEntries() + " " + response.getImportedEntries();
  }

  /** The outcome and the texts of previews. */
  private static String shown(PeekResponse response) {
    var texts = response.getPreviewsList().stream()
        .map(preview -> HexFormat.of().formatHex(preview.getEntry().getMessage().getPlaintext().toByteArray()));
    return Stream.concat(Stream.of(response.getOutcome().name()), texts).collect(Collectors.joining(" "));
  }
}
