package dev.signet.client;

import com.google.protobuf.ByteString;
import dev.signet.client.v1.*;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;

/**
 * A device that runs the steps of test/native/scenario.json. A line is a step and its arguments, each as the hexadecimal
 * digits of its text. An answer is {@code ok} and its texts, or {@code failed} and the reason.
 */
public final class ScenarioDevice {
  private final SignetClient client;
  private final OpenRequest messaging;

  private ScenarioDevice(String[] words, SecretBox box) {
    var identity = IdentityOptions.newBuilder()
        .setAppId(words[2]).setAuthBaseUrl(words[3]).addProviders("IDP_A").addAudiences(words[4]);
    var builder = TestHost.builder(identity.build(), Path.of(words[0]));
    client = (box == null ? builder.dpapi() : builder.secretBox(box)).open();
    messaging = OpenRequest.newBuilder().setBaseUrl(words[5]).setAudience(words[4])
        .addIssuerRootKeys(ByteString.copyFrom(HexFormat.of().parseHex(words[6]))).build();
  }

  public static void main(String[] args) throws IOException {
    run(args, args[1].equals("dpapi") ? null : new FileBox(args[1]));
  }

  /**
   * @param words data folder, folder of keys, app, URL and audience, URL of messaging, and its root key
   * @param box null for that of Windows
   */
  public static void run(String[] words, SecretBox box) throws IOException {
    var device = new ScenarioDevice(words, box);
    // System.in asks how much there is, which Wine does not answer.
    var lines = new BufferedReader(new InputStreamReader(new FileInputStream(FileDescriptor.in)));
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      var step = Arrays.stream(line.split(" ")).map(ScenarioDevice::text).toList();
      System.out.println(device.answer(step.get(0), step.subList(1, step.size())));
    }
  }

  private String answer(String step, List<String> args) {
    try {
      return run(step, args).stream().map(text -> " " + hex(text)).collect(Collectors.joining("", "ok", ""));
    } catch (CompletionException failure) {
      if (!(failure.getCause() instanceof SignetException known)) throw failure;
      return "failed " + known.reason() + " " + hex(known.getMessage());
    }
  }

  private static String text(String hex) {
    return new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8);
  }

  private static String hex(String text) {
    return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
  }

  private List<String> run(String step, List<String> args) {
    var messenger = client.messenger();
    var first = args.isEmpty() ? "" : args.get(0);
    return switch (step) {
      case "signIn" -> List.of(client.identity().login(LoginRequest.newBuilder().setProvider("IDP_A").setNonce(first)
          .setCredential(Credential.newBuilder().setIdToken(args.get(1))).build()).join().getUser().getPrincipalId());
      case "openMessenger" -> List.of(messenger.open(messaging).join().getDeviceId());
      case "createDirect" -> List.of(messenger.createDirectConversation(
          CreateDirectConversationRequest.newBuilder().setPeerUserId(first).build()).join().getConversation().getId());
      case "createGroup" -> List.of(messenger.createGroupConversation(
          CreateGroupConversationRequest.newBuilder().addAllMemberUserIds(args).build()).join().getConversation().getId());
      case "add" -> done(messenger.addMembers(
          AddMembersRequest.newBuilder().setConversationId(first).addUserIds(args.get(1)).build()).join());
      case "remove" -> done(messenger.removeMembers(
          RemoveMembersRequest.newBuilder().setConversationId(first).addUserIds(args.get(1)).build()).join());
      case "send" -> done(messenger.send(SendRequest.newBuilder()
          .setConversationId(first).setPlaintext(ByteString.copyFromUtf8(args.get(1))).build()).join());
      case "sync" -> done(messenger.sync().join());
      case "read" -> messenger.listTimeline(ListTimelineRequest.newBuilder().setConversationId(first).build()).join()
          .getEntriesList().stream().filter(entry -> entry.hasMessage())
          .map(entry -> entry.getMessage().getPlaintext().toStringUtf8()).toList();
      case "members" -> messenger.getConversation(
          GetConversationRequest.newBuilder().setConversationId(first).build()).join().getConversation().getMemberUserIdsList();
      case "renewKeys" -> done(messenger.refreshKeys(RefreshKeysRequest.newBuilder().setConversationId(first).build()).join());
      case "sendFile" -> List.of(String.valueOf(messenger.sendAttachment(
          SendAttachmentRequest.newBuilder().setConversationId(first).setPath(args.get(1)).build()).join().getSeq()));
      case "saveFile" -> done(messenger.saveAttachment(SaveAttachmentRequest.newBuilder()
          .setConversationId(first).setSeq(Long.parseLong(args.get(1))).setPath(args.get(2)).build()).join());
      case "safetyNumber" -> List.of(messenger.getVerification(
          GetVerificationRequest.newBuilder().setUserId(first).build()).join().getVerification().getSafetyNumber());
      case "markVerified" -> List.of(messenger.markVerified(MarkVerifiedRequest.newBuilder()
          .setUserId(first).setCompared(args.get(1)).build()).join().getVerification().getStatus());
      case "showQr" -> List.of(messenger.getQrCode(GetQrCodeRequest.newBuilder().setUserId(first).build()).join().getText());
      case "scan" -> List.of(messenger.scanQrCode(ScanQrCodeRequest.newBuilder()
          .setUserId(first).setScanned(args.get(1)).build()).join().getVerification().getStatus());
      case "requestHistory" -> List.of(client.history().requestHistoryByQr().join().getQr());
      case "grantHistory" -> done(client.history().grantHistoryByQr(GrantHistoryByQrRequest.newBuilder().setQr(first).build()).join());
      case "runHistory" -> done(client.history().runHistory().join());
      case "backUp" -> {
        var key = client.backup().createRecoveryKey().join().getRecoveryKey();
        client.backup().exportBackup(ExportBackupRequest.newBuilder().setPath(first).setSecret(secretOf(key)).build()).join();
        yield List.of(key);
      }
      case "recover" -> List.of(String.valueOf(client.backup().restoreBackup(RestoreBackupRequest.newBuilder()
          .setPath(first).setSecret(secretOf(args.get(1))).build()).join().getImportedEntries()));
      case "signOut" -> done(client.identity().logout().join());
      default -> throw new IllegalArgumentException("the platform lacks the step \"" + step + "\"");
    };
  }

  private static BackupSecret secretOf(String recoveryKey) {
    return BackupSecret.newBuilder().setRecoveryKey(recoveryKey).build();
  }

  private static List<String> done(Object ignored) {
    return List.of();
  }
}
