// node docs/examples/chat/main.ts EMAIL ROOT_KEY: a chat with a server under development (npm start, in another terminal).
import { join } from "node:path"
import { createInterface } from "node:readline"
import { createFileLock, createFileStorage, createPassphraseBox } from "@signet/client-node"
import { openChat } from "./chat.ts"

const [email = "", rootKey = "", server = "http://127.0.0.1:8080"] = process.argv.slice(2)
const folder = join(".signet", "chat", email)

// What a real app does with its provider: here, one that takes anybody's word.
const answer = await fetch(`${server}/dev/idp-a/login-request`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ email }),
})
const { appId, nonce, idToken }: { appId: string; nonce: string; idToken: string } = await answer.json()

const chat = await openChat({
  appId,
  authBaseUrl: server,
  rootKey: new Uint8Array(Buffer.from(rootKey, "base64url")),
  folder,
  // An app for people has `openOsSecretBox`, or asks for the passphrase.
  box: createPassphraseBox({
    storage: createFileStorage(join(folder, "box")),
    lock: createFileLock(join(folder, "box-lock")),
    passphrase: async () => process.env.CHAT_PASSPHRASE ?? "only for trying it out",
  }),
  signIn: async () => ({ provider: "IDP_A", nonce, credential: { idToken } }),
  show: (line) => console.log(line),
})
console.log(`you are ${chat.userId}; write: prn_… and a text`)

const lines = createInterface({ input: process.stdin })
for await (const line of lines) {
  const [peer = "", ...words] = line.trim().split(" ")
  if (peer === "") continue
  if (words.length === 0) console.log(await chat.safetyNumber(peer))
  else await chat.say(peer, words.join(" "))
}
await chat.close()
