import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.logbuffer.FragmentHandler;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * One end of Aeron's response channels, on an embedded Java media driver:
 *
 * <pre>
 * java -cp aeron-all.jar Response.java ROLE --requests URI --responses URI --stream N
 *     --messages FILE
 * </pre>
 *
 * ROLE is request or respond. The requester sends every message of FILE and expects each back, in
 * order; the responder returns each message to its requester. It prints "ready DIR CLIENT_ID", the
 * requester also "done COUNT", and exits when its input ends.
 */
public final class Response {
    private static final long STALL_NS = 60_000_000_000L;

    private static void tell(final String text) {
        System.out.println(text);
        System.out.flush();
    }

    private static void fail(final String text) {
        System.err.println("Response.java: " + text);
        System.err.flush();
        Runtime.getRuntime().halt(1);
    }

    private static void awaitEndOfInput() {
        try {
            System.in.readAllBytes();
        } catch (final IOException ex) {
            fail(ex.toString());
        }
    }

    private static void send(final Publication publication, final byte[] message) {
        final long deadlineNs = System.nanoTime() + STALL_NS;
        final UnsafeBuffer buffer = new UnsafeBuffer(message);
        long result;
        while ((result = publication.offer(buffer, 0, message.length)) < 0) {
            if (result == Publication.CLOSED || System.nanoTime() > deadlineNs) {
                fail("not accepted: " + result);
            }
            Thread.yield();
        }
    }

    private static void request(
        final Aeron aeron, final Map<String, String> options, final String dir) throws Exception {
        final int stream = Integer.parseInt(options.get("stream"));
        final int[] count = {0};
        final byte[][] wanted = {null};
        final FragmentHandler check = new FragmentAssembler((buffer, offset, length, header) -> {
            final byte[] bytes = new byte[length];
            buffer.getBytes(offset, bytes);
            if (wanted[0] == null || !Arrays.equals(bytes, wanted[0])) {
                fail("response " + count[0] + ": " + length + " bytes differ from the request");
            }
            wanted[0] = null;
            count[0]++;
        });
        try (Subscription responses = aeron.addSubscription(options.get("responses"), stream + 1);
            Publication requests = aeron.addExclusivePublication(
                options.get("requests") + "|response-correlation-id=" + responses.registrationId(),
                stream);
            DataInputStream in = new DataInputStream(
                new FileInputStream(options.get("messages")))) {
            tell("ready " + dir + " " + aeron.clientId());
            final long deadlineNs = System.nanoTime() + STALL_NS;
            while (!requests.isConnected() || !responses.isConnected()) {
                if (System.nanoTime() > deadlineNs) {
                    fail("no responder: requests " + requests.isConnected()
                        + ", responses " + responses.isConnected());
                }
                Thread.sleep(1);
            }
            while (in.available() > 0) {
                final byte[] message = in.readNBytes(in.readInt());
                wanted[0] = message;
                send(requests, message);
                final long stallNs = System.nanoTime() + STALL_NS;
                while (wanted[0] != null) {
                    if (responses.poll(check, 64) == 0 && System.nanoTime() > stallNs) {
                        fail("response " + count[0] + " does not arrive");
                    }
                    Thread.yield();
                }
            }
            tell("done " + count[0]);
            awaitEndOfInput();
        }
    }

    private static void respond(
        final Aeron aeron, final Map<String, String> options, final String dir) throws Exception {
        final int stream = Integer.parseInt(options.get("stream"));
        final Map<Integer, ExclusivePublication> answers = new HashMap<>();
        try (Subscription requests = aeron.addSubscription(options.get("requests"), stream)) {
            tell("ready " + dir + " " + aeron.clientId());
            final FragmentHandler reply = (buffer, offset, length, header) -> {
                final byte[] bytes = new byte[length];
                buffer.getBytes(offset, bytes);
                send(answers.get(header.sessionId()), bytes);
            };
            final FragmentHandler answer = new FragmentAssembler(reply);
            final Thread input = new Thread(Response::awaitEndOfInput);
            input.start();
            while (input.isAlive()) {
                for (final Image image : requests.images()) {
                    final String channel = options.get("responses")
                        + "|response-correlation-id=" + image.correlationId();
                    answers.computeIfAbsent(
                        image.sessionId(),
                        (id) -> aeron.addExclusivePublication(channel, stream + 1));
                }
                requests.poll(answer, 16);
                Thread.yield();
            }
        }
    }

    public static void main(final String[] args) throws Exception {
        final Map<String, String> options = new HashMap<>();
        for (int i = 1; i + 1 < args.length; i += 2) {
            options.put(args[i].substring(2), args[i + 1]);
        }
        final MediaDriver.Context context = new MediaDriver.Context().dirDeleteOnShutdown(true);
        try (MediaDriver driver = MediaDriver.launchEmbedded(context);
            Aeron aeron = Aeron.connect(
                new Aeron.Context().aeronDirectoryName(driver.aeronDirectoryName()))) {
            if (args[0].equals("request")) {
                request(aeron, options, driver.aeronDirectoryName());
            } else {
                respond(aeron, options, driver.aeronDirectoryName());
            }
        }
    }
}
