// Exports audit chains and checkpoints with what a caller needs to verify them. A text that the caller may not see is
// empty.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { Place } from "@signet/kernel/administration/ports"
import { type CheckpointHeads, merkleProof } from "@signet/kernel/audit/checkpoint"
import { auditChainOf, rowText } from "@signet/kernel/audit/row"
import type { Linked } from "@signet/kernel/audit/verify-chains"
import type { ContextId } from "@signet/kernel/ids"
import type {
  AuditCheckpointSchema,
  AuditLinkSchema,
  ListAuditCheckpointsResponseSchema,
  ListAuditLinksResponseSchema,
} from "@signet/proto/auth/v1/audit_service"
import type { AdminTransaction } from "../admin/administer.ts"

/** The place that a caller lists. All null: events of no app. */
export type ListPlace = Place | { readonly appId: null; readonly tenantId: null; readonly contextId: null }

const linksAtOnce = 100
const checkpointsAtOnce = 50

interface Links {
  readonly afterSeq: bigint
  readonly pageSize: number
}

export async function exportLinks(
  { tx }: AdminTransaction,
  place: ListPlace,
  { afterSeq, pageSize }: Links,
): Promise<MessageInitShape<typeof ListAuditLinksResponseSchema> & { chain: string }> {
  const chain = auditChainOf(place)
  const links = await tx.audit.links(chain, afterSeq, pageSize || linksAtOnce)
  return { chain, links: links.map((linked) => linkShape(linked, place.contextId)) }
}

function linkShape({ link, row }: Linked, seenFrom: ContextId | null): MessageInitShape<typeof AuditLinkSchema> {
  const isSeen = row !== null && (seenFrom === null || row.contextId === seenFrom)
  return {
    seq: link.seq,
    eventId: link.eventId,
    eventHash: link.eventHash,
    linkedAtMs: BigInt(link.linkedAtMs),
    hash: link.hash,
    eventText: isSeen ? rowText(row) : "",
  }
}

interface Checkpoints {
  readonly afterNumber: bigint
  readonly pageSize: number
}

export async function exportCheckpoints(
  { tx, deps }: AdminTransaction,
  place: ListPlace,
  { afterNumber, pageSize }: Checkpoints,
): Promise<MessageInitShape<typeof ListAuditCheckpointsResponseSchema>> {
  const chain = auditChainOf(place)
  const found = await tx.audit.checkpoints(afterNumber, pageSize || checkpointsAtOnce)
  return { chain, checkpoints: found.map((one) => checkpointShape(deps.secrets, one, chain)) }
}

function checkpointShape(
  seals: Parameters<typeof merkleProof>[0],
  { checkpoint, heads }: CheckpointHeads,
  chain: string,
): MessageInitShape<typeof AuditCheckpointSchema> {
  const { number, jws } = checkpoint
  const index = heads.findIndex(({ shard }) => shard === chain)
  const head = heads[index]
  if (head === undefined) return { number, jws }
  const proof = merkleProof(seals, heads, index).map(({ hash, isLeft }) => ({ hash, isLeft }))
  return { number, jws, head: { seq: head.seq, hash: head.hash, proof } }
}
