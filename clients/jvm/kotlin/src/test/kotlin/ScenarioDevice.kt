import com.google.protobuf.ByteString
import dev.signet.client.SignetClient
import dev.signet.client.SignetException
import dev.signet.client.kotlin.suspending
import dev.signet.client.v1.BackupSecret
import dev.signet.client.v1.IdentityOptions
import java.nio.file.Path
import java.util.HexFormat
import kotlinx.coroutines.runBlocking

/**
 * A device that runs the steps of test/native/scenario.json over the suspending calls. A line is a step and its arguments,
 * each as the hexadecimal digits of its text. An answer is `ok` and its texts, or `failed`, the reason and the message.
 *
 * Arguments: data folder, folder of keys (unused), app, URL and audience, URL of messaging, and its root key.
 */
fun main(args: Array<String>) = runBlocking {
  val device = ScenarioDevice(args)
  generateSequence(::readlnOrNull).forEach { line ->
    val words = line.split(" ").map { String(HexFormat.of().parseHex(it)) }
    println(device.answer(words.first(), words.drop(1)))
  }
}

private class ScenarioDevice(private val words: Array<String>) {
  private val client = SignetClient.builder(
    IdentityOptions.newBuilder()
      .setAppId(words[2]).setAuthBaseUrl(words[3]).addProviders("IDP_A").addAudiences(words[4]).build(),
    Path.of(words[0]),
  ).passphrase("a passphrase".toByteArray()).open()
  private val identity = client.identity().suspending
  private val messenger = client.messenger().suspending
  private val history = client.history().suspending
  private val backup = client.backup().suspending

  suspend fun answer(step: String, args: List<String>): String =
    try {
      run(step, args).joinToString("", "ok") { " ${hex(it)}" }
    } catch (failure: SignetException) {
      "failed ${failure.reason()} ${hex(failure.message.orEmpty())}"
    }

  private fun hex(text: String) = HexFormat.of().formatHex(text.toByteArray())

  private suspend fun run(step: String, args: List<String>): List<String> = when (step) {
    "signIn" -> listOf(
      identity.login {
        provider = "IDP_A"
        nonce = args[0]
        credentialBuilder.idToken = args[1]
      }.user.principalId,
    )
    "openMessenger" -> listOf(
      messenger.open {
        baseUrl = words[5]
        audience = words[4]
        addIssuerRootKeys(ByteString.copyFrom(HexFormat.of().parseHex(words[6])))
      }.deviceId,
    )
    "signOut" -> done(identity.logout())
    "sync" -> done(messenger.sync())
    "createDirect" -> listOf(messenger.createDirectConversation { peerUserId = args[0] }.conversation.id)
    "createGroup" -> listOf(messenger.createGroupConversation { addAllMemberUserIds(args) }.conversation.id)
    "requestHistory" -> listOf(history.requestHistoryByQr().qr)
    "grantHistory" -> done(history.grantHistoryByQr { qr = args[0] })
    "runHistory" -> done(history.runHistory())
    "backUp" -> {
      val key = backup.createRecoveryKey().recoveryKey
      backup.exportBackup {
        path = args[0]
        secret = secretOf(key)
      }
      listOf(key)
    }
    "recover" -> listOf(
      backup.restoreBackup {
        path = args[0]
        secret = secretOf(args[1])
      }.importedEntries.toString(),
    )
    "safetyNumber" -> listOf(messenger.getVerification { userId = args[0] }.verification.safetyNumber)
    "markVerified" -> listOf(
      messenger.markVerified {
        userId = args[0]
        compared = args[1]
      }.verification.status,
    )
    "showQr" -> listOf(messenger.getQrCode { userId = args[0] }.text)
    "scan" -> listOf(
      messenger.scanQrCode {
        userId = args[0]
        scanned = args[1]
      }.verification.status,
    )
    else -> inConversation(step, args[0], args.drop(1))
  }

  private suspend fun inConversation(step: String, id: String, args: List<String>): List<String> = when (step) {
    "add" -> done(messenger.addMembers { conversationId = id; addUserIds(args[0]) })
    "remove" -> done(messenger.removeMembers { conversationId = id; addUserIds(args[0]) })
    "send" -> done(messenger.send { conversationId = id; plaintext = ByteString.copyFromUtf8(args[0]) })
    "read" -> messenger.listTimeline { conversationId = id }.entriesList
      .filter { it.hasMessage() }.map { it.message.plaintext.toStringUtf8() }
    "members" -> messenger.getConversation { conversationId = id }.conversation.memberUserIdsList
    "renewKeys" -> done(messenger.refreshKeys { conversationId = id })
    "sendFile" -> listOf(messenger.sendAttachment { conversationId = id; path = args[0] }.seq.toString())
    "saveFile" -> done(messenger.saveAttachment { conversationId = id; seq = args[0].toLong(); path = args[1] })
    else -> throw IllegalArgumentException("the platform lacks the step \"$step\"")
  }

  private fun secretOf(key: String) = BackupSecret.newBuilder().setRecoveryKey(key).build()

  private fun done(@Suppress("UNUSED_PARAMETER") ignored: Any) = emptyList<String>()
}
