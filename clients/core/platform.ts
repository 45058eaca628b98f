// @signet/client/platform: for packages that bring a platform of their own.
export { type Holding, holdKeys, type ScopeKeys } from "./held-keys.ts"
export {
  fromBase64url,
  importSealingKey,
  openBytes,
  type Pinned,
  type SealingKey,
  scopeText,
  sealBytes,
  toBase64url,
} from "./sealed.ts"
