import { createHash, randomFillSync } from "node:crypto"
import { join } from "node:path"
import {
  type Clock,
  connect,
  createSignet,
  type Random,
  type SecretBox,
  type Signet,
  type SignetConfig,
  type Wire,
} from "@signet/client"
import { createFileLock } from "./file-lock.ts"
import { createFileStorage } from "./file-storage.ts"

export interface NodeConfig extends SignetConfig {
  /** The folder of the sealed sign-in; all processes with the same folder share it. */
  readonly folder: string
  /** Seals the sign-in: the system's credential store, or a passphrase if chosen. */
  readonly box: SecretBox
  /** The default protocol of calls. Default: Connect. */
  readonly wire?: Wire
}

const clock: Clock = {
  nowMs: () => Date.now(),
  after(ms, run) {
    // A longer timer would fire at once.
    const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
const random: Random = { bytes: (length) => randomFillSync(new Uint8Array(length)) }

/**
 * The identity client of a program, a command or a service of one user.
 *
 * @throws SignetError CONFIGURATION_INVALID
 */
export function configure({ folder, box, wire = connect, ...config }: NodeConfig): Signet {
  const place = createHash("sha256").update(`${config.appId} ${config.authBaseUrl}`).digest("base64url").slice(0, 16)
  return createSignet(config, {
    ...{ clock, random, wire },
    storage: createFileStorage(join(folder, "kept")),
    lock: createFileLock(join(folder, `lock-${place}`)),
    refreshToken: { in: "box", box },
  })
}
