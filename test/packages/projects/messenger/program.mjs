// Two people sign in and write to each other: node program.mjs URL ROOT_KEY FOLDER NAME NAME
import { join } from "node:path"
import { argv } from "node:process"
import { createClient } from "@connectrpc/connect"
import { configure, createFileLock, createFileStorage, createPassphraseBox, grpc } from "@signet/client-node"
import {
  createMessenger,
  isMessagingError,
  messagingSession,
  openFolderStore,
  openSqliteStore,
} from "@signet/client-node/messaging"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"

const [, , authBaseUrl, rootKey, folder, ...names] = argv
const [ada, bob] = await Promise.all(names.map(open))
await bob.messenger.sync()
const { id } = await ada.messenger.createDirectConversation(bob.userId)
await ada.messenger.send(id, new TextEncoder().encode("hello from a package"))
await bob.messenger.sync()
for (const entry of await bob.messenger.timeline(id)) {
  if (entry.is === "message") console.log(new TextDecoder().decode(entry.plaintext))
}
for (const one of [ada, bob]) {
  await one.messenger.close()
  one.signet.close()
}

async function open(name) {
  const own = join(folder, name)
  const box = createPassphraseBox({
    storage: createFileStorage(join(own, "box")),
    lock: createFileLock(join(own, "box-lock")),
    passphrase: async () => "of a test",
  })
  const body = JSON.stringify({ email: `${name}@example.com` })
  const answer = await fetch(`${authBaseUrl}/dev/idp-a/login-request`, { method: "POST", body })
  const { appId, nonce, idToken } = await answer.json()
  const signet = configure({ appId, authBaseUrl, providers: ["IDP_A"], folder: join(own, "signet"), box })
  await signet.login({ provider: "IDP_A", nonce, credential: { idToken } })
  const { principal } = await createClient(AuthService, signet.session.transport()).me({})
  const { sessions } = await createClient(SessionService, signet.session.transport({ wire: grpc })).listSessions({})
  console.log(principal.id, sessions.length)
  const session = await messagingSession(signet.session, { appId })
  const messaging = { baseUrl: authBaseUrl, issuerRootKeys: [new Uint8Array(Buffer.from(rootKey, "base64url"))] }
  const store = await storeIn(join(own, "messages"), name)
  return {
    signet,
    userId: session.userId,
    messenger: await createMessenger({ messaging, session, store, secretBox: box }),
  }
}

/** The first one's is SQLite where Node has it; the second one's is a folder everywhere. */
async function storeIn(path, name) {
  if (name === names[1]) return openFolderStore(path)
  try {
    return openSqliteStore(`${path}.db`)
  } catch (error) {
    if (!isMessagingError(error, "STORE_UNAVAILABLE")) throw error
    console.log(error.message)
    return openFolderStore(path)
  }
}
