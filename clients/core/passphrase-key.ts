import { argon2id } from "hash-wasm"

/** Parameters of Argon2id (RFC 9106). */
export interface Argon2Parameters {
  readonly memoryKiB: number
  readonly passes: number
  readonly lanes: number
}

/** 64 MiB, three passes, one lane. */
export const usualArgon2: Argon2Parameters = { memoryKiB: 65_536, passes: 3, lanes: 1 }

/** Lower values are not from this program, and higher ones would stall the machine. */
const limits = { memoryKiB: [19_456, 1_048_576], passes: [2, 16], lanes: [1, 4] } as const

/** Returns the name of the first parameter that is not within its limits; undefined for none. */
export function wrongArgon2Parameter(parameters: Record<keyof Argon2Parameters, unknown>): string | undefined {
  return (["memoryKiB", "passes", "lanes"] as const).find((name) => {
    const value = parameters[name]
    const [least, most] = limits[name]
    return !(typeof value === "number" && Number.isInteger(value) && value >= least && value <= most)
  })
}

/** Derives 32 bytes from a passphrase in Unicode form NFKC. @param salt 16 bytes. */
export function stretchPassphrase(
  passphrase: string,
  { memoryKiB, passes, lanes }: Argon2Parameters,
  salt: Uint8Array,
): Promise<Uint8Array> {
  return argon2id({
    password: passphrase.normalize("NFKC"),
    salt,
    memorySize: memoryKiB,
    iterations: passes,
    parallelism: lanes,
    hashLength: 32,
    outputType: "binary",
  })
}
