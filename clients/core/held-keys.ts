// Caches the keys of secret boxes for callers that hold a scope.
import { type BoundBox, openBytes, type SealingKey, sealBytes } from "./sealed.ts"
import { type HeldBox, SecretBoxError, type SecretScope } from "./secret-box.ts"

export interface ScopeKeys {
  readonly newest: SealingKey
  find(id: string): SealingKey | undefined
}

export interface Holding {
  /** Another holder of the scope. */
  hold(scope: SecretScope): HeldBox
  /** The keys of scopes have changed: holders load them again. */
  changed(): void
}

/** @param load Loads and checks the keys of a scope; undefined without any. */
export function holdKeys(box: BoundBox, load: (scope: SecretScope) => Promise<ScopeKeys | undefined>): Holding {
  const held = new Set<() => void>()
  return {
    changed() {
      for (const release of held) release()
    },
    hold(scope) {
      let loading: Promise<ScopeKeys | undefined> | undefined
      const release = () => {
        loading = undefined
        held.delete(release)
      }
      /** Loads the keys; a failure or missing key is retried by the next call. */
      async function keys(): Promise<ScopeKeys | undefined> {
        held.add(release)
        loading ??= load(scope)
        const mine = loading
        try {
          const found = await mine
          if (found === undefined && loading === mine) release()
          return found
        } catch (error) {
          if (loading === mine) release()
          throw error
        }
      }
      return {
        async seal(purpose, plaintext) {
          const found = await keys()
          if (found === undefined) throw new SecretBoxError("KEY_MISSING", "no key exists yet: call createKey first")
          return sealBytes(box, found.newest, { scope, purpose }, plaintext)
        },
        async open(purpose, sealed) {
          const found = await keys()
          let isMissing = false
          const find = (id: string) => {
            const key = found?.find(id)
            isMissing = key === undefined
            return key
          }
          try {
            return await openBytes(box, find, { scope, purpose }, sealed)
          } catch (error) {
            if (!isMissing) throw error
            // Another process has created a newer key since.
            release()
            const now = await keys()
            return openBytes(box, (id) => now?.find(id), { scope, purpose }, sealed)
          }
        },
        release,
      }
    },
  }
}
