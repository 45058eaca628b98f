package dev.signet.client.pure;

import dev.signet.host.v1.BoxFailure;
import dev.signet.host.v1.EffectFailure;

/** A failed effect, as signet.host.v1 names it. Its message is for a developer, and has no secret. */
final class HostFailure extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final EffectFailure.Kind kind;
  private final BoxFailure box;

  HostFailure(EffectFailure.Kind kind, String message) {
    super(message, null, false, false);
    this.kind = kind;
    this.box = BoxFailure.BOX_FAILURE_UNSPECIFIED;
  }

  HostFailure(BoxFailure box, String message) {
    super(message, null, false, false);
    this.kind = EffectFailure.Kind.BOX;
    this.box = box;
  }

  static HostFailure io(String message) {
    return new HostFailure(EffectFailure.Kind.IO, message);
  }

  /** A number for a primitive's refusal; BOX_FAILURE_UNSPECIFIED for a failure that is not the box's. */
  BoxFailure box() {
    return box;
  }

  EffectFailure toEffect() {
    return EffectFailure.newBuilder().setKind(kind).setBox(box).setMessage(getMessage()).build();
  }
}
