import { isSecretBoxError } from "@signet/client"
import { Command, InvalidArgumentError, Option } from "commander"
import { type Cli, examples, show } from "../cli.ts"
import type { Run } from "../command.ts"
import { openPassphraseBox, passphraseStorage } from "../credential-store.ts"
import { CommandError, exitCodes, usage } from "../failure.ts"
import { readSecret } from "../sign-in/ask.ts"
import { holdKey, lockNow, maxUnlockMinutes, parseUnlockMinutes, unlockMinutesOf } from "../unlock/unlock.ts"

export const unlockMinutesOption = (): Option =>
  new Option(
    "--unlock-minutes <n>",
    `Minutes for which the passphrase store stays unlocked: 0 to ${maxUnlockMinutes}.`,
  ).argParser((text: string) => parseUnlockMinutes(text, (message) => new InvalidArgumentError(message)))

export function unlockCommand(cli: Cli, run: Run): Command {
  return examples(
    new Command("unlock")
      .description(
        "Unlock the passphrase store for some minutes. The passphrase is prompted for or read from standard input.",
      )
      .addOption(unlockMinutesOption())
      .action(
        run((given: { unlockMinutes?: number }) => {
          cli.options.unlockMinutes = given.unlockMinutes
          return unlock(cli)
        }),
      ),
    ["signet unlock", "signet unlock --unlock-minutes 60 < passphrase.txt"],
  )
}

export function lockCommand(cli: Cli, run: Run): Command {
  return examples(
    new Command("lock").description("End the unlock of the passphrase store at once.").action(
      run(async () => {
        const wasUnlocked = await lockNow(cli)
        show(cli, { locked: true, wasUnlocked }, () => (wasUnlocked ? "Locked." : "Nothing was unlocked."))
        return 0
      }),
    ),
    ["signet lock"],
  )
}

async function unlock(cli: Cli): Promise<number> {
  const minutes = unlockMinutesOf(cli)
  if (minutes === 0) throw usage("--unlock-minutes must be at least 1", "To end one: signet lock")
  if ((await passphraseStorage(cli).read("passphrase-box")) === undefined) {
    throw new CommandError("NOT_SIGNED_IN", exitCodes.unauthenticated, "no passphrase store exists", {
      hint: "The first sign-in creates it: signet login --store passphrase",
    })
  }
  const box = openPassphraseBox(cli, {
    passphrase: async () => cli.env.SIGNET_PASSPHRASE || readSecret(cli, "Passphrase of the credential store"),
    holder: {
      find: async () => undefined,
      async hold(id, key) {
        await lockNow(cli)
        await holdKey(cli, id, key)
      },
    },
  })
  // Sealing verifies the passphrase, with or without a key for this scope.
  await box.seal({ app: "signet" }, "unlock", new Uint8Array()).catch((error: unknown) => {
    if (!isSecretBoxError(error, "KEY_MISSING")) throw error
  })
  show(cli, { unlocked: true, minutes }, () => `Unlocked for ${minutes} minutes. To end it: signet lock`)
  return 0
}
