// What it costs to know who is calling: our verifier, cold and warm, against jose and the bare signature check.
import { createPublicKey, verify } from "node:crypto"
import { createVerifier } from "@signet/guard/access-token"
import { createLocalKeySet } from "@signet/guard/key-set"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { createIssuer } from "@signet/guard/testing/issuer"
import { type TokenCrypto, webTokenCrypto } from "@signet/guard/token-crypto"
import { importJWK, jwtVerify } from "jose"

export interface Row {
  readonly name: string
  /** Median over the rounds. */
  readonly microseconds: number
  /** Of the bare signature check in the same run. */
  readonly ratio: number
}

export const sizes = { usual: { rounds: 7, calls: 1_000 }, smallest: { rounds: 1, calls: 20 } }

/** Microseconds a token, and each as a ratio to the first row. Candidates take turns, so that noise hits all alike. */
export async function run({ rounds, calls }: typeof sizes.usual): Promise<readonly Row[]> {
  const issuer = createIssuer()
  const tokens = Array.from({ length: calls }, (_, i) => issuer.token({ jti: `jti-${i}` }))
  const ours = (crypto: TokenCrypto, cacheSize: number) =>
    createVerifier({
      issuer: issuer.issuer,
      audience: issuer.audience,
      keySet: createLocalKeySet(issuer, crypto),
      crypto,
      clock: issuer.clock,
      cacheSize,
    })
  const verified = (check: ReturnType<typeof ours>) => async (token: string) => typeof (await check(token)) === "object"

  const key = createPublicKey({ format: "jwk", key: { ...issuer.jwk } })
  const joseKey = await importJWK({ ...issuer.jwk }, "ES256")
  const joseOptions = {
    issuer: issuer.issuer,
    audience: issuer.audience,
    typ: "at+jwt",
    algorithms: ["ES256"],
    currentDate: new Date(issuer.clock.nowMs()),
  }

  const candidates: Record<string, (token: string) => boolean | Promise<boolean>> = {
    "node:crypto verify, signature only": (token) => {
      const end = token.lastIndexOf(".")
      const signature = Buffer.from(token.slice(end + 1), "base64url")
      return verify("sha256", Buffer.from(token.slice(0, end)), { key, dsaEncoding: "ieee-p1363" }, signature)
    },
    "ours, cold": verified(ours(nodeTokenCrypto, 0)),
    "ours, warm": verified(ours(nodeTokenCrypto, 10_000)),
    "ours, cold, WebCrypto": verified(ours(webTokenCrypto, 0)),
    "ours, warm, WebCrypto": verified(ours(webTokenCrypto, 10_000)),
    "jose.jwtVerify": async (token) => (await jwtVerify(token, joseKey, joseOptions)).payload.jti !== undefined,
  }

  const times = new Map(Object.keys(candidates).map((name) => [name, [] as number[]]))
  // The first round warms everything up, the caches too, and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, check] of Object.entries(candidates)) {
      const began = performance.now()
      for (const token of tokens) {
        if (!(await check(token))) throw new Error(`${name} refuses a valid token`)
      }
      if (round > 0) times.get(name)?.push(((performance.now() - began) * 1_000) / tokens.length)
    }
  }

  const medians = [...times].map(([name, values]) => ({ name, microseconds: median(values) }))
  const base = medians[0]?.microseconds ?? Number.NaN
  return medians.map((row) => ({ ...row, ratio: row.microseconds / base }))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
