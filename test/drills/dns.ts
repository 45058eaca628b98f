// A DNS server with one name, and programs that resolve by it: glibc reads /etc/resolv.conf, which a mount namespace of the
// program replaces.
import { execFileSync } from "node:child_process"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Dns {
  readonly name: string
  /** A command that runs another one, which resolves names by this server. */
  readonly wrapper: readonly string[]
  /** From now on the name has this address. */
  point(address: string): void
  /** The number of questions so far. */
  asked(): number
  close(): void
}

const name = "database.signet.test"
/** A loopback address whose port 53 is free. Only root may listen there. */
const address = "127.0.53.77"

/** Why there is no such DNS server; undefined if there may be one. */
export const noDns: string | undefined = reason()

function reason(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root may answer DNS"
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "ignore" })
    return undefined
  } catch {
    return "this machine does not allow mount namespaces"
  }
}

export async function startDns(first: string): Promise<Dns> {
  let current = first
  let questions = 0
  const socket = createSocket("udp4")
  socket.on("message", (question, peer) => {
    questions++
    socket.send(answerTo(question, current), peer.port, peer.address)
  })
  socket.bind(53, address)
  await once(socket, "listening")
  const folder = mkdtempSync(join(tmpdir(), "signet-dns-"))
  const file = join(folder, "resolv.conf")
  writeFileSync(file, `nameserver ${address}\noptions timeout:1 attempts:2\n`)
  return {
    name,
    wrapper: ["unshare", "--mount", "sh", "-c", `mount --bind ${file} /etc/resolv.conf && exec "$@"`, "sh"],
    point(next) {
      current = next
    },
    asked: () => questions,
    close() {
      socket.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** RFC 1035 section 4: an A record with a lifetime of zero for each question of type A, and no record otherwise. */
function answerTo(question: Buffer, ip: string): Buffer {
  const end = question.indexOf(0, 12) + 5
  const asked = question.subarray(12, end)
  const isA = asked.readUInt16BE(asked.length - 4) === 1
  const header = Buffer.alloc(12)
  question.copy(header, 0, 0, 2)
  // A response, authoritative, recursion available.
  header.writeUInt16BE(0x8580, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(isA ? 1 : 0, 6)
  // A pointer to the name of the question, type A, class IN, lifetime 0, four bytes.
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ip.split(".").map(Number)])
  return Buffer.concat([header, asked, isA ? record : Buffer.alloc(0)])
}
