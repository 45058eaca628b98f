package dev.signet.client;

import java.io.PrintWriter;
import java.util.Arrays;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** Runs the tests of the named classes without Maven. The last line is the number of those that succeeded. */
public final class RunTests {
  private RunTests() {}

  public static void main(String[] args) {
    var listener = new SummaryGeneratingListener();
    var request = LauncherDiscoveryRequestBuilder.request()
        .selectors(Arrays.stream(args).map(DiscoverySelectors::selectClass).toList())
        .build();
    LauncherFactory.create().execute(request, listener);
    var summary = listener.getSummary();
    summary.printFailuresTo(new PrintWriter(System.out, true), 20);
    System.out.println(summary.getTestsSucceededCount());
    System.exit(summary.getTotalFailureCount() == 0 ? 0 : 1);
  }
}
