// Chat.kt
import com.google.protobuf.ByteString
import dev.signet.client.SignetClient
import dev.signet.client.SignetException
import dev.signet.client.kotlin.eventFlow
import dev.signet.client.kotlin.suspending
import dev.signet.client.v1.IdentityOptions
import java.nio.file.Path
import java.util.HexFormat
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Dispatchers.IO
import kotlinx.coroutines.flow.filter
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext

fun main(args: Array<String>) = runBlocking {
  val (folder, url, appId, rootKey, nonce, token) = args
  val options = IdentityOptions.newBuilder().setAuthBaseUrl(url).setAppId(appId).addProviders("IDP_A").build()
  val client = SignetClient.builder(options, Path.of(folder)).passphrase("a passphrase".toByteArray()).open()
  val printing = launch(start = UNDISPATCHED) {
    client.eventFlow().filter { it.entry.entry.hasMessage() }.collect {
      val message = it.entry.entry.message
      println("${message.from.userId}: ${message.plaintext.toStringUtf8()}")
    }
    println("closed")
  }
  val login = client.identity().suspending.login {
    provider = "IDP_A"
    this.nonce = nonce
    credentialBuilder.idToken = token
  }
  println("signed in as ${login.user.principalId}")
  val messenger = client.messenger().suspending
  messenger.open {
    baseUrl = url
    addIssuerRootKeys(ByteString.copyFrom(HexFormat.of().parseHex(rootKey)))
  }
  messenger.sync()
  println("ready")
  if (args.size == 8) {
    val conversation = messenger.createDirectConversation { peerUserId = args[6] }.conversation
    messenger.send {
      conversationId = conversation.id
      plaintext = ByteString.copyFromUtf8(args[7])
    }
  }
  val running = launch {
    try {
      messenger.run()
    } catch (failure: SignetException) {
      println(failure.reason())
    }
  }
  withContext(IO) { readlnOrNull() }
  client.close()
  running.join()
  printing.join()
}

private operator fun <T> Array<T>.component6(): T = this[5]
