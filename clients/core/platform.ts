// For the platforms' packages, which build secret boxes from it. Internal: no package exports it.
export { type Holding, holdKeys, type ScopeKeys } from "./held-keys.ts"
export {
  type BoundBox,
  fromBase64url,
  importSealingKey,
  openBytes,
  type SealingKey,
  scopeText,
  sealBytes,
  toBase64url,
} from "./sealed.ts"
