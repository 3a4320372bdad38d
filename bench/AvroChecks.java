import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;

/** Checks a pair of schemas (a file with two lines) many times; prints the verdict and CPU seconds of a check. */
public class AvroChecks {
    public static void main(String[] arguments) throws Exception {
        List<String> texts = Files.readAllLines(Path.of(arguments[0]));
        int count = Integer.parseInt(arguments[1]);
        Schema reader = new Schema.Parser().parse(texts.get(0));
        Schema writer = new Schema.Parser().parse(texts.get(1));
        String verdict = "";
        long start = 0;
        for (int i = 0; i < 2 * count; i++) {
            if (i == count) {
                start = now(); // the first half warms the compiler up
            }
            verdict = SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getType().name();
        }
        System.out.println(verdict + " " + (now() - start) / 1e9 / count);
    }

    private static long now() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }
}
