#include "data/formats/csv.h"

#include "base/error.h"
#include "data/data_testing.h"
#include "data/datasets/table_dataset.h"
#include "data/sources/registry.h"

namespace lockstep {
namespace {

using Record = std::vector<std::string>;

std::vector<Record> records_of(std::string_view text) {
  CsvReader reader(text, "t.csv");
  std::vector<Record> records;
  for (Record record; reader.next(record);) records.push_back(record);
  return records;
}

TEST(CsvReader, HandlesQuotesLineEndsAndAByteOrderMark) {
  EXPECT_EQ(records_of("\xEF\xBB\xBF"
                       "a,\"b,c\",\"d\"\"e\"\r\n\r\n\"two\nlines\",,\n,x"),
            (std::vector<Record>{{"a", "b,c", "d\"e"}, {"two\nlines", "", ""}, {"", "x"}}));
}

TEST(CsvReader, CountsLinesInsideQuotes) {
  CsvReader reader("\"1\n2\",x\n\ny,z", "t.csv");
  Record record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(reader.line(), 1);
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(reader.line(), 4);
  EXPECT_FALSE(reader.next(record));
}

TEST(CsvReader, SaysWhereAnUnclosedQuoteWasOpened) {
  expect_says(error_of<UserError>([] { records_of("a\n\"b\nc"); }),
              {"t.csv, line 2", "never closed"});
  expect_says(error_of<UserError>([] { records_of("a\n\"b\"c\n"); }), {"t.csv, line 2", "quote"});
}

class CsvSource : public InFolder {
 protected:
  SourceData load(std::string_view text, const std::string& label = "label") {
    DataConfig config;
    config.name = "csv";
    config.path = write("t.csv", text);
    config.label = label;
    return find_source("csv").load(config, {}, nullptr);
  }
  std::string error_for(std::string_view text, const std::string& label = "label") {
    return error_of<UserError>([&] { load(text, label); });
  }
};

TEST_F(CsvSource, TakesTheLabelFromAnyColumnAndSortsTheClasses) {
  const SourceData data = load("x,kind,y\r\n1,pear,+2.5\r\n 3 ,apple,-4e2\r\n", "kind");
  const auto& table = dynamic_cast<const TableDataset&>(*data.samples);
  EXPECT_EQ(table.features(), (Record{"x", "y"}));
  EXPECT_EQ(table.classes(), (Record{"apple", "pear"}));
  EXPECT_EQ(table.label(0), 1);
  EXPECT_EQ(table.values(0)[1], 2.5f);
  EXPECT_EQ(table.values(1)[0], 3.0f);
  EXPECT_EQ(table.values(1)[1], -400.0f);
}

TEST_F(CsvSource, SortsNumberedClassesByTheirNumber) {
  EXPECT_EQ(load("x,label\n1,10\n1,9\n1,2\n").samples->classes(), (Record{"2", "9", "10"}));
}

TEST_F(CsvSource, SaysOnWhichLineTheNumberOfFieldsDiffers) {
  expect_says(error_for("x,y,label\n1,2,a\n\n1,a\n"), {"t.csv, line 4", "2 fields", "3 columns"});
}

TEST_F(CsvSource, NamesLineAndColumnOfTextAmongNumbers) {
  expect_says(error_for("x,size,label\n1,2,a\n1,big,a\n"), {"t.csv, line 3", "'size'", "'big'"});
  expect_says(error_for("x,size,label\n1,,a\n"), {"t.csv, line 2", "'size'", "nothing"});
  expect_says(error_for("x,size,label\n1,0x10,a\n"), {"'size'", "'0x10'"});
}

TEST_F(CsvSource, RefusesNumbersThatAreNotFinite) {
  for (const char* bad : {"nan", "NaN", "inf", "-inf", "1e39", "1e999"})
    expect_says(error_for(std::string("x,label\n1,a\n") + bad + ",a\n"),
                {"t.csv, line 3", "'x'", bad, "finite"});
}

TEST_F(CsvSource, SuggestsTheNearestColumnWhenTheLabelIsMissing) {
  expect_says(error_for("x,species\n1,a\n", "specie"), {"t.csv, line 1", "'specie'", "'species'"});
}

TEST_F(CsvSource, NoticesAFileWithoutAHeader) {
  expect_says(error_for("1.5,2,0\n2,3,1\n"), {"t.csv, line 1", "no header", "'label'"});
}

TEST_F(CsvSource, RefusesFilesWithNothingToLearnFrom) {
  expect_says(error_for(""), {"t.csv is empty"});
  expect_says(error_for("x,label\n"), {"t.csv", "no rows"});
  expect_says(error_for("label\na\n"), {"t.csv", "only column"});
  expect_says(error_for("x,label\n1,\n"), {"t.csv, line 2", "'label'", "missing"});
}

TEST(Iris, HoldsFiftyFlowersOfEachSpecies) {
  const SourceData data = find_source("iris").load({}, {}, nullptr);
  EXPECT_EQ(data.samples->size(), 150);
  EXPECT_EQ(data.samples->classes(), (Record{"setosa", "versicolor", "virginica"}));
  const auto& table = dynamic_cast<const TableDataset&>(*data.samples);
  EXPECT_EQ(table.features().size(), 4u);
  // Row 35 as in Fisher's paper; UCI's copy has 0.1 here.
  EXPECT_EQ(table.values(34)[3], 0.2f);
}

}  // namespace
}  // namespace lockstep
