// The command's stored secrets: sealed, in a folder that only the user can access.
import { join } from "node:path"
import {
  createFileLock,
  createFileStorage,
  createPassphraseBox,
  openOsSecretBox,
  type PassphraseBoxOptions,
  type SecretBox,
} from "@signet/client-node"
import type { Cli, NamedProfile } from "./cli.ts"
import { CommandError, exitCodes, usage } from "./failure.ts"
import { homeOf } from "./profiles.ts"
import { keyHolderOf } from "./unlock/unlock.ts"

export interface CredentialStore {
  /** Throws what a later write would throw. */
  prepare(): Promise<void>
  read(name: string): Promise<string | undefined>
  write(name: string, text: string): Promise<void>
  remove(name: string): Promise<void>
}

/** The folder of a profile. */
export const folderOf = ({ env }: Cli, { name }: NamedProfile): string => join(homeOf(env), "profiles", name)

/** The profile's secret box: the system's by default, a passphrase's if chosen. There is no fallback. */
export async function openBox(cli: Cli, { store = storeOf(cli) }: NamedProfile): Promise<SecretBox> {
  if (store === "os") return openOsSecretBox({ lock: boxLock(cli) })
  const holder = keyHolderOf(cli)
  return openPassphraseBox(cli, { passphrase: (isNew) => askPassphrase(cli, isNew), ...(holder && { holder }) })
}

/** The passphrase file, which all profiles share. */
export const openPassphraseBox = (cli: Cli, how: Pick<PassphraseBoxOptions, "passphrase" | "holder">): SecretBox =>
  createPassphraseBox({ storage: passphraseStorage(cli), lock: boxLock(cli), ...how })

export const passphraseStorage = ({ env }: Cli) => createFileStorage(join(homeOf(env), "passphrase-box"))
const boxLock = ({ env }: Cli) => createFileLock(join(homeOf(env), "box-lock"))

/** SIGNET_STORE: the default of sign-ins. */
export function storeOf({ env }: Cli): "os" | "passphrase" {
  const store = env.SIGNET_STORE || "os"
  if (store === "os" || store === "passphrase") return store
  throw usage("SIGNET_STORE must be os or passphrase")
}

async function askPassphrase({ env, terminal }: Cli, isNew: boolean): Promise<string> {
  if (env.SIGNET_PASSPHRASE) return env.SIGNET_PASSPHRASE
  if (!terminal.isInteractive) {
    throw new CommandError(
      "PASSPHRASE_NEEDED",
      exitCodes.unauthenticated,
      "the passphrase is required, but there is no terminal to prompt at",
      {
        hint: "Unlock first: signet unlock, at a terminal or with the passphrase on standard input. Or set SIGNET_PASSPHRASE.",
      },
    )
  }
  const { askSecret } = await import("./sign-in/ask.ts")
  if (!isNew) return askSecret("Passphrase of the credential store")
  const chosen = await askSecret("New passphrase of the credential store")
  // A typing error would lock the user out.
  if ((await askSecret("Repeat the passphrase")) === chosen) return chosen
  throw new CommandError("WRONG_PASSPHRASE", exitCodes.unauthenticated, "the two passphrases differ")
}

/** Stored texts of a profile, such as a personal access token. */
export async function openCredentialStore(cli: Cli, profile: NamedProfile): Promise<CredentialStore> {
  const storage = createFileStorage(join(folderOf(cli, profile), "kept"))
  const box = await openBox(cli, profile)
  const scope = { app: "signet", user: `${profile.name} ${profile.server}` }
  return {
    prepare: () => box.createKey(scope),
    async read(name) {
      const kept = await storage.read(name)
      return kept && new TextDecoder().decode(await box.open(scope, name, kept.bytes))
    },
    async write(name, text) {
      await box.createKey(scope)
      await storage.write(name, await box.seal(scope, name, new TextEncoder().encode(text)), "any")
    },
    async remove(name) {
      await storage.remove(name, "any")
    },
  }
}
