// A process of a user's machine that shares a sign-in with others and executes a job. By default it prints one token
// and exits.
import { createHash } from "node:crypto"
import { join } from "node:path"
import { createSignet } from "@signet/client"
import { connect, createFileLock, createFileStorage, createPassphraseBox } from "@signet/client-node"
import { type faultKinds, faultyStorage } from "../../clients/core/testing/fault.ts"
import { random } from "../../clients/core/testing/memory-platform.ts"

export interface Job {
  readonly folder: string
  readonly appId: string
  readonly authBaseUrl: string
  readonly idToken?: string
  /** Ends by SIGKILL at the k-th store operation of a refresh. */
  readonly killAt?: number
  readonly killKind?: (typeof faultKinds)[number]
  /** Number of consecutive tokens, each with its own refresh. */
  readonly refreshes?: number
  /** Offset of this process's clock, in milliseconds. */
  readonly skewMs?: number
}

async function main(): Promise<void> {
  const job: Job = JSON.parse(process.argv[2] ?? "{}")
  const { folder, appId, authBaseUrl, skewMs = 0 } = job
  const lock = createFileLock(join(folder, "lock"))
  const storage = faultyStorage(createFileStorage(folder), () => {
    process.kill(process.pid, "SIGKILL")
    return new Promise(() => {})
  })
  const box = createPassphraseBox({
    storage: createFileStorage(join(folder, "box")),
    lock: createFileLock(join(folder, "box-lock")),
    passphrase: async () => "of a test",
    parameters: { memoryKiB: 19_456, passes: 2 },
  })
  const open = () =>
    createSignet(
      { appId, authBaseUrl, providers: ["IDP_A"] },
      {
        clock: {
          nowMs: () => Date.now() + skewMs,
          after(ms, run) {
            const timer = setTimeout(run, ms)
            timer.unref()
            return () => clearTimeout(timer)
          },
        },
        ...{ random, storage, lock, wire: connect },
        refreshToken: { in: "box", box },
      },
    )
  const digests: string[] = []
  if (job.idToken !== undefined) {
    await open().login({ provider: "IDP_A", nonce: "n-1", credential: { idToken: job.idToken } })
  }
  for (let i = 0; i < (job.refreshes ?? 1); i++) {
    // A new client has no access token, so it refreshes.
    const signet = open()
    await signet.session.ready
    if (job.killAt !== undefined) storage.arm(job.killAt, job.killKind ?? "stops before")
    const token = await signet.session.accessToken()
    digests.push(createHash("sha256").update(token).digest("hex"))
  }
  process.stdout.write(JSON.stringify(digests))
}

await main()
